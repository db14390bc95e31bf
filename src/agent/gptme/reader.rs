//! Reads the settings of a conversation and the metadata of a sub-agent.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use crate::agent::gptme::records::{GptmeConfig, parent};
use crate::agent::prelude::*;

/// Maximum size of the settings.
pub(super) const MAX_CONFIG: u64 = 1024 * 1024;
/// The maximum length of a path on all systems.
const MAX_LINK: u64 = 4096;
/// Maximum size of the file, which contains the prompt of a sub-agent.
const MAX_META: u64 = 16 * 1024 * 1024;

/// Returns the file of the settings.
pub(super) fn settings(dir: &Path) -> PathBuf {
    dir.join("config.toml")
}

/// Reads the metadata of a sub-agent; only its folder has the file.
pub(super) fn read_meta(copy: &mut SessionCopy) {
    if copy.place.id.starts_with("subagent-")
        && let Ok(Some(meta)) = fsio::read_if_present(&copy.place.path.join("subagent-meta.json"), MAX_META)
    {
        copy.kind = SessionKind::Subagent;
        copy.parent_id = parent(&meta);
    }
}

/// Reads the settings, and adds the directories in them and in the conversation as evidence.
pub(super) fn read_config(copy: &mut SessionCopy, env: &Env) {
    apply_config(copy, env);
    copy.add_dirs("config.toml", "conversation.jsonl");
}

/// A fork has no settings until it is resumed for the first time.
fn apply_config(copy: &mut SessionCopy, env: &Env) {
    let path = settings(&copy.place.path);
    let Some(bytes) = read_or_note(copy, &path, MAX_CONFIG, "its config.toml") else { return };
    let config = GptmeConfig::parse(&String::from_utf8_lossy(&bytes));
    copy.last_dir = config.workspace.and_then(|dir| workspace(&dir, &copy.place.path, env));
    copy.title = config.name.map(|name| Fact::new(name, "config"));
    copy.model = config.model.map(|model| Fact::new(model, "config"));
    if config.is_interactive == Some(false) && copy.kind == SessionKind::Main {
        copy.kind = SessionKind::Exec;
    }
}

/// Returns the directory in the settings. gptme writes `~` for the home, which is another path in a copy of the home;
/// then the link next to the settings shows the original one.
fn workspace(written: &Path, dir: &Path, env: &Env) -> Option<Fact<Arc<Path>>> {
    let here = Some(env.expand(written)).filter(|dir| recorded::is_absolute(dir))?;
    let below = written.strip_prefix("~").ok().filter(|_| reach::is_dir(&here) == Some(false));
    let there = below.and_then(|below| link(&dir.join("workspace")).filter(|target| target.ends_with(below)));
    Some(there.map_or_else(|| Fact::new(here, "config"), |there| Fact::new(there, "workspace")))
}

/// Returns the target of a link. A copy without support for links, such as one by git, has a file with the target
/// instead.
fn link(path: &Path) -> Option<PathBuf> {
    let target = std::fs::read_link(path).ok().or_else(|| {
        let bytes = fsio::read_if_present(path, MAX_LINK).ok().flatten()?;
        Some(PathBuf::from(OsString::from_vec(bytes)))
    });
    target.filter(|target| target.is_absolute())
}
