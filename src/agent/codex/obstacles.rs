//! Reasons for which Codex refuses to continue a thread.
//!
//! Facts: measured on 0.171.0: a thread whose model provider config.toml lacks, also with `-c model_provider`, and a
//! paginated rollout whose last record has no ordinal.

use std::collections::HashSet;

use crate::agent::prelude::*;
use crate::format::edit::Edit;
use crate::format::jsonl::Jsonl;
use crate::format::skim::single_members;
use crate::format::toml::TomlSettings;
use crate::session::obstacle::Obstacle;

const MAX_CONFIG: u64 = 4 * 1024 * 1024;
/// The providers that need no table (built into 0.171.0 and earlier versions).
const BUILT_IN: [&str; 6] = ["openai", "amazon-bedrock", "lmstudio", "ollama", "ollama-chat", "oss"];
/// The files of an administrator, which may add providers.
const OF_SYSTEM: [&str; 2] = ["/etc/codex/config.toml", "/etc/codex/managed_config.toml"];

/// Returns the providers that the settings of a store define; `None` without a config.toml, or if a file cannot be read.
pub(super) fn providers(store: &Store) -> Option<HashSet<String>> {
    let mut providers: HashSet<String> = BUILT_IN.map(str::to_owned).into();
    providers.extend(defined(&store.root.join("config.toml"))??);
    // Profiles are in separate files.
    let files = Found::default().entries(&store.root).into_iter().map(|(entry, _)| entry.path());
    let files = files.filter(|path| path.to_string_lossy().ends_with("config.toml"));
    for path in files.chain(OF_SYSTEM.map(PathBuf::from)) {
        providers.extend(defined(&path)?.unwrap_or_default());
    }
    Some(providers)
}

/// Returns the providers in a file, if it exists; `None` if it cannot be read.
fn defined(path: &Path) -> Option<Option<Vec<String>>> {
    let Some(bytes) = fsio::read_if_present(path, MAX_CONFIG).ok()? else { return Some(None) };
    Some(Some(TomlSettings::read(std::str::from_utf8(&bytes).ok()?)?.keys("model_providers")))
}

/// Finds the obstacle in the settings; `provider` is that of the thread.
pub(super) fn of_provider(copy: &SessionCopy, provider: &str, known: &HashSet<String>) -> Option<Obstacle> {
    let dirs = copy.launch_dir.as_ref().map(|dir| dir.value.ancestors()).into_iter().flatten();
    let is_defined = |dir: &Path| match defined(&dir.join(".codex/config.toml")) {
        Some(providers) => providers.is_some_and(|providers| providers.iter().any(|known| known == provider)),
        None => true,
    };
    if known.contains(provider) || dirs.into_iter().any(is_defined) {
        return None;
    }
    let config = copy.place.store.root.join("config.toml");
    let mut obstacle = Obstacle::new(format!(
        "its model provider `{provider}` is not configured any more, and Codex refuses to continue it: {} has no table \
         [model_providers.{provider}]",
        config.display()
    ));
    obstacle.hint = Some(format!("restore the table [model_providers.{provider}] in {}", config.display()));
    Some(obstacle)
}

/// Describes the obstacle of a paginated rollout whose last record has no ordinal.
pub(super) fn of_ordinal(path: &Path) -> Obstacle {
    let mut last = 0;
    let lines = Jsonl::open(path).and_then(Jsonl::into_lines);
    if let Ok(mut lines) = lines {
        while let Ok(Some(line)) = lines.next_line() {
            last = line.number;
        }
    }
    let is_mendable = path.extension().is_some_and(|extension| extension == "jsonl");
    let why =
        format!("its last record, line {last}, has no ordinal, and Codex refuses to continue a rollout without it");
    Obstacle { is_mendable, ..Obstacle::new(why) }
}

/// Returns whether a record has an ordinal.
pub(super) fn has_ordinal(line: &[u8]) -> bool {
    ordinal(line).is_none_or(|ordinal| ordinal.is_some())
}

/// Returns the ordinal of a record, if it has one; `None` if it is not plainly a record.
fn ordinal(line: &[u8]) -> Option<Option<u64>> {
    let [ordinal] = single_members(line, ["ordinal"])?;
    let number = |bytes| std::str::from_utf8(bytes).ok()?.parse().ok();
    ordinal.bytes().map_or(Some(None), |bytes| number(bytes).map(Some))
}

/// Returns the edits that number the last records of a rollout.
pub(super) fn numbered(path: &Path) -> Result<Vec<Act>, Unable> {
    let (mut last, mut edits) = (None, Vec::new());
    let mut lines = Jsonl::open(path)?.into_lines()?;
    while let Some(line) = lines.next_line()? {
        let bytes = line.bytes;
        match (ordinal(bytes), last) {
            (Some(Some(ordinal)), _) => {
                last = Some(ordinal);
                edits.clear();
            }
            (Some(None), Some(before)) => {
                let next = before + edits.len() as u64 + 1;
                let inserted = format!("\"ordinal\":{next},").into_bytes();
                let brace = bytes.iter().position(|byte| *byte == b'{').unwrap_or_default();
                edits.push(line.edit(Edit { at: brace as u64 + 1, removed: 0, inserted }));
            }
            // The first record of some versions has none.
            (Some(None), None) => {}
            (None, _) => return Err(format!("line {} cannot be numbered", line.number).into()),
        }
    }
    if edits.is_empty() {
        return Err("its last record cannot be numbered".into());
    }
    Ok(vec![Act::Edit { from: path.to_owned(), to: path.to_owned(), edits }])
}
