//! Command Code: `~/.commandcode/projects/<project>/<uuid>.jsonl`, with Pi's header and tree of records, but another
//! format of messages, and `<uuid>.meta.json` with a title.
//!
//! Facts: `command-code` 1.64.0, measured with a local model; the rest read in the package. Names of projects by
//! @sindresorhus/slugify 2.2.1, measured.

pub(super) mod about;

use super::command::as_option;
use super::ids::is_uuid;
use super::lines::Lines;
use crate::agent::pi::log::{Dialect, PiTree};
use crate::agent::pi::{records, relocation};
use crate::agent::prelude::*;
use crate::agent::relocation::text;
use crate::agent::unknown_format::has_any;

/// The files of a session next to its transcript.
const SIDECARS: [&str; 6] =
    ["meta.json", "share.json", "checkpoints.jsonl", "prompts.jsonl", "scheduled-tasks.json", "v2.bak"];
const MAX_META: u64 = 1024 * 1024;

/// Implements [`Agent`](super::Agent) for Command Code.
pub(super) struct CommandCode;

impl Reading for CommandCode {
    fn engine(&self) -> &'static dyn Engine {
        &Lines(PiTree(Self))
    }

    fn read(&self, place: Located, context: &ReadContext<'_>) -> Result<SessionCopy, PathError> {
        let mut copy = self.engine().read(place, context)?;
        if context.sizes {
            let sizes = sidecars(&copy.place.path).filter_map(|path| Some(links::metadata(&path).ok()?.len()));
            copy.size_bytes = copy.transcript_bytes + sizes.sum::<u64>();
        }
        // The program also treats an unreadable file as one without a title.
        let meta = copy.place.path.with_extension("meta.json");
        let meta = fsio::read_if_present(&meta, MAX_META).ok().flatten().unwrap_or_default();
        let meta: Option<&RawValue> = serde_json::from_slice(&meta).ok();
        let [title, branch, parent] = texts_in(meta, ["title", "gitBranch", "parentSessionId"]);
        copy.title = copy.title.take().or_else(|| title.filled().map(|title| Fact::new(title, "title")));
        copy.git_branch = branch.filled().map(|branch| Fact::new(branch, "session"));
        copy.parent_id = parent.filled().map(str::to_owned);
        Ok(copy)
    }

    fn is_silent(&self, record: &[u8]) -> bool {
        has_any(record, &[("/type", &["effort_change"])]) || records::is_silent(record)
    }
}

impl Resuming for CommandCode {
    fn command(&self, copy: &SessionCopy, prompt: Option<&str>) -> Result<Command, Unable> {
        Ok(Command::new(&["command-code", "--resume", &copy.place.id], as_option(prompt, "-p", "--print")))
    }
}

impl Moving for CommandCode {
    fn relocation<'a>(&'a self, _moving: &StoreMove<'a>) -> Result<Relocation<'a>, Unable> {
        let of_pi = relocation::relocation(|dir| project_of(dir).unwrap_or_default(), |path| sidecars(path).collect());
        Ok(Relocation::of_each(move |copy, to| {
            let unknown = "how Command Code names its project for that directory is not known to rejoin";
            project_of(text(to)?).ok_or(unknown)?;
            (of_pi.each)(copy, to)
        }))
    }

    fn is_filed_under(&self, project: &str, dir: &Path) -> Option<bool> {
        let is_its = encodes(dir, |dir| project_of(dir).as_deref() == Some(project));
        (is_its || !encodes(dir, |dir| project_of(dir).is_none())).then_some(is_its)
    }
}

impl Housekeeping for CommandCode {
    fn find_belongings(&self, place: &Located, _listings: &Listings) -> Result<Belongings, Unable> {
        let history = place.store.root.join("file-history").join(&place.id);
        let shared = Some(history).filter(|path| is_there(path)).into_iter().collect();
        Ok(Belongings { shared, ..own_files(place, sidecars(&place.path)) })
    }
}

impl Dialect for CommandCode {
    const NAME: &'static str = "Command Code";
    const HAS_TITLE_LINE: bool = false;
    const HEADLESS: &'static str =
        "it does not begin with a header; Command Code adds one when it opens a file of an older version";
    const BRANCHES: &'static str = "use /tree in Command Code to go there";

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        Found::in_projects(&store.root.join("projects"), |dir, project, found| {
            found.add_files(store, dir, Some(project), ".jsonl", only, &is_uuid);
        })
    }
}

fn sidecars(transcript: &Path) -> impl Iterator<Item = PathBuf> {
    SIDECARS.into_iter().map(|name| transcript.with_extension(name)).filter(|path| is_there(path))
}

/// Returns the project name of a directory like slugify 2.2.1; `None` for characters that slugify transliterates.
fn project_of(dir: &str) -> Option<String> {
    if !dir.is_ascii() || dir.contains(['&', '\'']) {
        return None;
    }
    let bytes = dir.as_bytes();
    let mut project = String::new();
    for (at, byte) in bytes.iter().enumerate() {
        if !byte.is_ascii_alphanumeric() {
            project.push('-');
            continue;
        }
        let before = |by: usize| at.checked_sub(by).map_or(b'/', |at| bytes[at]);
        let after = bytes.get(at + 1).copied().unwrap_or(b'/');
        let is_low = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        // Words begin at an uppercase letter after a lowercase one, at a number after two uppercase letters, and at the
        // last uppercase letter before lowercase ones, unless these are a plural's `s`.
        let begins_word = is_low(before(1)) && byte.is_ascii_uppercase()
            || before(1).is_ascii_uppercase() && before(2).is_ascii_uppercase() && byte.is_ascii_digit()
            || before(1).is_ascii_uppercase()
                && byte.is_ascii_uppercase()
                && after.is_ascii_lowercase()
                && after != b's';
        if begins_word {
            project.push('-');
        }
        project.push(char::from(byte.to_ascii_lowercase()));
    }
    let words: Vec<&str> = project.split('-').filter(|word| !word.is_empty()).collect();
    Some(if words.is_empty() { "root".to_owned() } else { words.join("-") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_name_matches_slugify() {
        for (dir, project) in [
            ("/home/ana/my_app.v2", "home-ana-my-app-v2"),
            ("/w/MyApp", "w-my-app"),
            ("/w/HTTPServer2", "w-http-server2"),
            ("/w/APIs", "w-apis"),
            ("/w/ABCs1x", "w-abcs1x"),
            ("/w/v2Beta", "w-v2-beta"),
            ("/W/has space", "w-has-space"),
            ("/", "root"),
        ] {
            assert_eq!(project_of(dir).as_deref(), Some(project), "{dir}");
            assert_eq!(CommandCode.is_filed_under(project, Path::new(dir)), Some(true), "{dir}");
            assert_eq!(CommandCode.is_filed_under(project, &Path::new(dir).join("x")), Some(false), "{dir}");
        }
        assert_eq!(project_of("/w/ü"), None);
        assert_eq!(CommandCode.is_filed_under("w-ue", Path::new("/w/ü")), None);
    }
}
