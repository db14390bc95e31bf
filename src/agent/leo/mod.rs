//! Leo: `.agent_session.json` in an app's directory names the session of Claude Code that built the app.
//!
//! It is a pointer, not a session: Claude Code files the conversation under Leo's working directory, which the file
//! contains only if `rejoin save leo` wrote it. Facts: Leo's agent.py and session documents (repository unknown).

pub(super) mod about;

use super::PointerWriter;

use crate::agent::claude::slug::is_slug_of;
use crate::agent::command::{LaunchPlan, LaunchRequest};
use crate::agent::ids::is_uuid;
use crate::agent::prelude::*;
use crate::format::edit::json_string;
use crate::format::json::local_instant;
use crate::session::Pointer;
use crate::session::mapping::Mapping;

/// The pointer's name in an app's directory.
pub(crate) const FILE_NAME: &str = ".agent_session.json";
/// Minimum size in bytes of a session that is not a failed start, by Leo's own rule.
const MEANINGFUL_BYTES: u64 = 5_000;
/// Leo's default directory for apps.
const OUTPUT_DIR: &str = "/workspace/app";
/// Maximum size of the file, which may contain the tasks of a reprompter.
pub(crate) const MAX_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct RawPointer<'a> {
    session_id: Text<'a>,
    app_path: Text<'a>,
    timestamp: Text<'a>,
    cwd: Text<'a>,
    context: Option<&'a RawValue>,
}

/// The program.
pub(super) struct Leo;

impl PointerWriter for Leo {
    fn file_name(&self) -> &'static str {
        FILE_NAME
    }

    fn pointer_in(&self, dir: &Path, env: &Env) -> Result<Option<Pointer>, PathError> {
        read(&dir.join(FILE_NAME), dir, &env.clock.zone)
    }

    /// Leo's own directories are those of its apps.
    fn dirs(&self, env: &Env, known: &mut dyn Iterator<Item = &Path>, found: &mut Found) -> Vec<PathBuf> {
        let mut dirs = places(env, known, found);
        dirs.sort();
        dirs.dedup();
        dirs
    }

    fn pointers(&self, env: &Env, known: &mut dyn Iterator<Item = &Path>) -> (Vec<Pointer>, Found) {
        let mut found = Found::default();
        let dirs = places(env, known, &mut found);
        let look = |path: PathBuf, dir: &Path| match read(&path, dir, &env.clock.zone) {
            Ok(None) => None,
            // The launch check reports an inaccessible directory.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => None,
            read => Some((path, read)),
        };
        let seen = parallel::map(&dirs, |dir| look(dir.join(FILE_NAME), dir));
        let mut seen: Vec<_> = seen.into_iter().flatten().collect();
        // Few directories contain a pointer, so comparing only these is much faster than comparing all directories.
        seen.sort_by(|(a, _), (b, _)| a.parent().cmp(&b.parent()));
        seen.dedup_by(|(a, _), (b, _)| a == b);
        let legacy = look(env.home.join(".app_generator_session.json"), &env.home);
        let mut pointers = Vec::new();
        for (path, read) in seen.into_iter().chain(legacy) {
            match read {
                Ok(pointer) => pointers.extend(pointer),
                Err(error) => found.problem(&path, error.reason()),
            }
        }
        (pointers, found)
    }

    fn moved_pointer(&self, dir: &Path, mapping: &Mapping, _env: &Env) -> Option<Act> {
        let path = dir.join(FILE_NAME);
        let json = small(&path, MAX_BYTES).ok()??;
        let edit = |key| json_string(&json, &[key], &|dir| mapping.text_to(dir));
        Act::in_place(path, ["app_path", "cwd"].into_iter().filter_map(edit).collect()).pop()
    }

    /// Leo replaces only the slashes; Claude Code's rule is different.
    fn project_of(&self, dir: &Path) -> String {
        dir.to_string_lossy().replace('/', "-")
    }

    fn may_be_filed_under(&self, project: &str, dir: &Path) -> bool {
        self.project_of(dir) == project || dir.to_str().is_some_and(|dir| is_slug_of(project, dir))
    }

    fn meaningful_bytes(&self) -> u64 {
        MEANINGFUL_BYTES
    }

    fn start_new(&self, dir: PathBuf, request: &LaunchRequest, env: &Env) -> LaunchPlan {
        super::claude::start_new(dir, request, env)
    }
}

/// Returns the directories that may contain a pointer, unsorted and with duplicates.
fn places(env: &Env, known: &mut dyn Iterator<Item = &Path>, found: &mut Found) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = known.map(Path::to_owned).collect();
    let mut roots = vec![env.home.join("workspace/app")];
    if !env.foreign_home {
        roots.push(PathBuf::from(OUTPUT_DIR));
    }
    for root in roots {
        for (app, kind) in found.entries(&root) {
            if kind.is_dir() {
                dirs.push(app.path().join("app"));
                dirs.push(app.path());
            }
        }
        dirs.push(root);
    }
    dirs
}

fn read(path: &Path, dir: &Path, zone: &TimeZone) -> Result<Option<Pointer>, PathError> {
    let Some(bytes) = fsio::read_if_present(path, MAX_BYTES)? else { return Ok(None) };
    let raw: RawPointer<'_> = serde_json::from_slice(&bytes)
        .map_err(|error| PathError::new("read", path, std::io::Error::other(format!("it is not JSON: {error}"))))?;
    let dir = match raw.app_path.filled() {
        // The legacy file is next to the apps and names its app.
        Some(app_path) if path.file_name().is_none_or(|name| name != FILE_NAME) => PathBuf::from(app_path),
        _ => dir.to_owned(),
    };
    Ok(Some(Pointer {
        agent: AgentKind::Leo,
        path: path.to_owned(),
        // Placeholders and incomplete ids are ignored.
        session_id: raw.session_id.filled().filter(|id| is_uuid(id)).map(str::to_owned),
        name: text_in(raw.context, "app_name").filled().map(str::to_owned),
        written_at: raw.timestamp.get().and_then(|text| local_instant(text, zone)),
        dir,
        // Only `rejoin save leo` records it; a relative path does not identify a directory.
        cwd: raw.cwd.filled().and_then(recorded::dir).map(|dir| dir.to_path_buf()),
    }))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;
    use crate::system::env::tests::fixed;

    fn pointer(text: &str) -> Pointer {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join(FILE_NAME), text).expect("a file");
        Leo.pointer_in(dir.path(), &fixed()).expect("a pointer").expect("a pointer")
    }

    #[test]
    fn pointer_has_local_time_and_app_name() {
        let found = pointer(
            r#"{"session_id":"9c0e4a52-8d0f-4b6e-8f53-0a3b5c7d9e11","app_path":"/workspace/app/Demo/app",
                "timestamp":"2026-02-01T10:00:00.123456","context":{"app_name":"Demo"},"reprompter_context":{}}"#,
        );
        assert_eq!(found.session_id.as_deref(), Some("9c0e4a52-8d0f-4b6e-8f53-0a3b5c7d9e11"));
        assert_eq!(found.name.as_deref(), Some("Demo"));
        assert_eq!(found.written_at, "2026-02-01T10:00:00.123456Z".parse().ok());
    }

    #[test]
    fn pointer_with_placeholder_has_no_session_id() {
        assert_eq!(pointer("{}").session_id, None);
        assert_eq!(pointer(r#"{"session_id":"pending","context":[]}"#).session_id, None);
        assert_eq!(pointer(r#"{"session_id":7}"#).session_id, None);
    }
}
