//! Reasons for which Codex refuses to continue a thread.
//!
//! Facts: measured on 0.171.0: a thread whose model provider config.toml lacks, also with `-c model_provider` or if the
//! project's config.toml has it; a thread that continues a missing rollout; a paginated rollout whose last record has no
//! ordinal.

use std::collections::BTreeMap;

use crate::agent::ids::is_word;
use crate::agent::prelude::*;
use crate::format::edit::Edit;
use crate::format::jsonl::Jsonl;
use crate::format::shell;
use crate::format::skim::single_members;
use crate::format::toml::TomlSettings;
use crate::session::obstacle::Obstacle;

const MAX_CONFIG: u64 = 4 * 1024 * 1024;
/// The providers that need no table (built into 0.171.0 and earlier versions).
const BUILT_IN: [&str; 6] = ["openai", "amazon-bedrock", "lmstudio", "ollama", "ollama-chat", "oss"];
/// The files of an administrator, which may add providers.
const OF_SYSTEM: [&str; 2] = ["/etc/codex/config.toml", "/etc/codex/managed_config.toml"];

/// Returns the providers that the settings of a store define, each with the profiles that alone define it; `None` without
/// a config.toml, or if a file cannot be read.
pub(super) fn providers(store: &Store) -> Option<BTreeMap<String, Vec<String>>> {
    let mut always: Vec<String> = BUILT_IN.map(str::to_owned).into();
    always.extend(defined(&store.root.join("config.toml"))??);
    let mut of_profiles: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // Profiles are in separate files.
    let files = Found::default().entries(&store.root).into_iter().map(|(entry, _)| entry.path());
    let files = files.filter(|path| path.to_string_lossy().ends_with("config.toml"));
    for path in files.chain(OF_SYSTEM.map(PathBuf::from)) {
        let providers = defined(&path)?.unwrap_or_default();
        match path.file_name()?.to_str()?.strip_suffix(".config.toml") {
            Some(profile) => providers.into_iter().for_each(|provider| {
                of_profiles.entry(provider).or_default().push(profile.to_owned());
            }),
            None => always.extend(providers),
        }
    }
    of_profiles.extend(always.into_iter().map(|provider| (provider, Vec::new())));
    Some(of_profiles)
}

/// Returns the providers in a file, if it exists; `None` if it cannot be read.
fn defined(path: &Path) -> Option<Option<Vec<String>>> {
    let Some(bytes) = fsio::read_if_present(path, MAX_CONFIG).ok()? else { return Some(None) };
    Some(Some(TomlSettings::read(std::str::from_utf8(&bytes).ok()?)?.keys("model_providers")))
}

/// Returns the profile with which Codex has to be started to have the provider of a thread, if it needs one.
pub(super) fn profile(copy: &SessionCopy) -> Option<String> {
    let profiles = providers(&copy.place.store)?.remove(&super::start_of(copy)?.provider?)?;
    // Any other name could be taken for an option.
    <[String; 1]>::try_from(profiles).ok().map(|[profile]| profile).filter(|profile| is_word(profile))
}

/// Finds the obstacle in the settings; `provider` is that of the thread, and `known` has those of [`providers`].
pub(super) fn of_provider(
    copy: &SessionCopy,
    provider: &str,
    known: &BTreeMap<String, Vec<String>>,
) -> Option<Obstacle> {
    let store = &copy.place.store.root;
    let (why, hint) = match known.get(provider).map(Vec::as_slice) {
        Some([] | [_]) => return None,
        Some(profiles) => {
            let all = profiles.join(", ");
            let why = format!(
                "only the profiles {all} have its model provider `{provider}`, and it does not say which it had"
            );
            (why, format!("run `codex -p {} resume {}` in its directory", shell::word(&profiles[0]), copy.place.id))
        }
        None => {
            let config = store.join("config.toml");
            let table = format!("[model_providers.{provider}]");
            let why = format!(
                "its model provider `{provider}` is not configured any more, and Codex refuses to continue it: {} has no \
                 table {table}",
                config.display()
            );
            (why, format!("restore the table {table} in {}", config.display()))
        }
    };
    Some(Obstacle { hint: Some(hint), ..Obstacle::new(why) })
}

/// Describes the obstacle of a thread that continues a missing rollout.
pub(super) fn of_base(id: &str) -> Obstacle {
    let why =
        format!("the rollout that it continues, of {id}, is missing, and Codex refuses to continue it without that");
    let hint = format!("bring the rollout of {id} back; `rejoin restore` finds it in the archive and the trash");
    Obstacle { hint: Some(hint), ..Obstacle::damage(why) }
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
    Ok(Act::in_place(path.to_owned(), edits))
}
