//! The target of an export, and the names of its files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::agent;
use crate::archive::store::Archive;
use crate::cli::{ExportArgs, ExportFormat};
use crate::commands::export::chosen::Chosen;
use crate::error::{Exit, Refusal, RefusalCode};
use crate::format::command_line;
use crate::session::Session;
use crate::system::env::{Clock, Env};
use crate::system::reach;

/// Maximum bytes of a title in the name of its file.
const MAX_TITLE: usize = 48;

/// The target of an export.
#[derive(Debug)]
pub(super) enum ExportTarget {
    /// Standard output.
    Output,
    File(PathBuf),
    Dir(PathBuf),
}

impl ExportTarget {
    /// Parses `--output`, and refuses unsuitable targets.
    pub(super) fn from_args(args: &ExportArgs, chosen: &[Chosen], env: &Env) -> anyhow::Result<Self> {
        let named = args.output.as_deref().filter(|output| *output != Path::new("-"));
        let Some(output) = named else { return Ok(Self::Output) };
        let path = env.absolute(output);
        refuse_stores(&path, chosen, env)?;
        let names_dir = output.as_os_str().as_encoded_bytes().ends_with(b"/");
        let is_several = args.sessions.len() != 1 && ExportFormat::from_extension(&path).is_none();
        if names_dir || reach::is_dir(&path) == Some(true) || is_several {
            return Ok(Self::Dir(path));
        }
        if args.asked_format().is_none() {
            return Err(unknown_ending(&path, env).into());
        }
        if !args.overwrite {
            refuse_existing(&path, env)?;
        }
        Ok(Self::File(path))
    }

    /// Returns the requested format, or the one that the name implies.
    pub(super) fn format(&self, args: &ExportArgs) -> ExportFormat {
        let usual = if matches!(self, Self::Dir(_)) { ExportFormat::Html } else { ExportFormat::Markdown };
        args.asked_format().unwrap_or(usual)
    }
}

/// Refuses a file whose name does not imply a format.
fn unknown_ending(path: &Path, env: &Env) -> Refusal {
    let message = match path.extension() {
        Some(ending) => format!("{} is not a form of export", Path::new(ending).display()),
        None => format!("the name {} has no ending that names a form of export", path.display()),
    };
    let again = command_line::again(env, &[], &["--format=markdown"]);
    Refusal::new(RefusalCode::Usage, message)
        .hint(format!("end the name in .md, .html or .json, or in / for a directory, or run `{again}`"))
}

/// Refuses to overwrite a file.
pub(super) fn refuse_existing(path: &Path, env: &Env) -> Result<(), Refusal> {
    if reach::exists_itself(path) == Some(false) {
        return Ok(());
    }
    let again = command_line::again(env, &[], &["--overwrite"]);
    let message = format!("{} exists; nothing was written", path.display());
    let refusal = Refusal::new(RefusalCode::Exists, message).hint(format!("run `{again}` to replace it"));
    Err(Refusal { exit: Exit::Failure, ..refusal })
}

/// Refuses directories whose files other programs would take for theirs: the stores of all agents, the archive, the
/// journals and the trash.
fn refuse_stores(path: &Path, chosen: &[Chosen], env: &Env) -> Result<(), Refusal> {
    let real = |path: &Path| reach::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let output = path.ancestors().find(|path| reach::exists(path) == Some(true)).map(real).unwrap_or_default();
    let of_chosen = chosen.iter().flat_map(|one| &one.session.copies).map(|copy| copy.place.store.root.clone());
    let stores = agent::roots(env, &[]).into_iter().chain(of_chosen).map(|root| (root, "an agent stores its sessions"));
    let archives = [Archive::open(env, None).root().to_owned(), Archive::default_dir(env)];
    let archives = archives.map(|root| (root, "rejoin keeps its archive"));
    let state = [(env.state_dir(), "rejoin keeps its journals and its trash")];
    // A directory that does not exist yet has no real path, so both are compared.
    let is_in = |root: &Path| output.starts_with(real(root)) || path.starts_with(root);
    match stores.chain(archives).chain(state).find(|(root, _)| is_in(root)) {
        Some((root, what)) => {
            let message = format!("{} is inside {}, where {what}", path.display(), root.display());
            Err(Refusal::new(RefusalCode::OutputInStore, message).hint("choose a place elsewhere with --output"))
        }
        None => Ok(()),
    }
}

/// Names the file of each session: day, agent, title and the start of its id, each name once.
pub(super) fn names(chosen: &[Chosen], format: ExportFormat, env: &Env) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut name = |session: &Session| {
        let id: String = session.id().chars().filter(char::is_ascii_alphanumeric).take(8).collect();
        let title = in_a_name(session.label().unwrap_or("untitled"));
        let stem = [&day(session, &env.clock), session.agent.name(), &title, &id].join("-");
        let numbered = |number: u32| if number == 1 { stem.clone() } else { format!("{stem}-{number}") };
        let free = (1..).map(numbered).find(|name| !taken.contains(name)).unwrap_or_default();
        taken.insert(free.clone());
        format!("{free}.{}", format.ending())
    };
    chosen.iter().map(|one| name(&one.session)).collect()
}

/// Returns the day on which a session was last active, in the user's time zone.
pub(super) fn day(session: &Session, clock: &Clock) -> String {
    let at = session.copy().active_at.as_ref();
    at.map_or_else(|| "undated".to_owned(), |at| clock.local(at.value).date().to_string())
}

/// Keeps the letters and digits of a title that are safe in every file system and link.
fn in_a_name(title: &str) -> String {
    let mut name = String::new();
    for c in title.chars() {
        if name.len() >= MAX_TITLE {
            break;
        }
        match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() => name.push(c),
            '\'' => {}
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() { "session".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_becomes_safe_file_name() {
        for (title, expected) in [
            ("Renew the mail certificates", "renew-the-mail-certificates"),
            ("  ../../etc/passwd\n", "etc-passwd"),
            ("Don't <b>", "dont-b"),
            ("日本語", "session"),
            ("", "session"),
        ] {
            assert_eq!(in_a_name(title), expected);
        }
        assert!(in_a_name(&"long ".repeat(100)).len() <= MAX_TITLE);
    }
}
