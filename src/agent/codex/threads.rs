//! Codex's own list of its sessions, a table in a database: their names and current working directories.
//!
//! The table is derived from the rollouts, so it only supplements them. Facts: `state_5.sqlite` of 0.169.0; older
//! versions have no `name` and store a given name in `title`, which otherwise contains the first prompt.

use crate::agent::mentions::Mention;
use crate::agent::prelude::*;
use crate::format::sqlite::{self, Db, QueryError};
use crate::format::toml::TomlSettings;
use crate::format::turn::instant;

/// The source name for facts of the table.
pub(super) const THREADS: &str = "threads";
/// Longer names and paths are ignored.
const MAX_BYTES: u32 = 4096;
/// Characters of a prompt or title that are read.
const MAX_TEXT: u32 = 64 * 1024;
const MAX_CONFIG: u64 = 4 * 1024 * 1024;

/// Adds the rows of the table to the notes on a store: all rows, or that of one session.
pub(super) fn add(store: &Store, id: Option<&str>, env: &Env, notes: &mut StoreNotes) {
    // The table is optional: without SQLite the rollouts are sufficient.
    let Some(path) = find(store, env).filter(|_| cfg!(feature = "sqlite")) else { return };
    match sqlite::read(&path, |db| rows(db, id)) {
        Ok(rows) => {
            for Row { id, name, cwd, file, is_archived, is_pinned } in rows {
                notes.kept_by.extend(is_pinned.then(|| (id.clone(), super::pins::pinned())));
                notes.archived.extend(is_archived.map(|is_archived| (id.clone(), is_archived)));
                notes.files.extend(file.map(|file| (id.clone(), PathBuf::from(file))));
                if let Some(name) = name {
                    notes.names.insert(id.clone(), Fact::new(name.trim().to_owned(), THREADS));
                }
                if let Some(dir) = cwd.and_then(|cwd| recorded::dir(&cwd)) {
                    let detail = "its row in Codex's database".into();
                    let evidence = Evidence { dir, source: THREADS, detail, counts: true };
                    notes.dirs.insert(id, vec![evidence]);
                }
            }
        }
        Err(error) => notes.problem(&path, error.reason()),
    }
}

/// Finds the sessions in the table, with their first prompts and titles: rows stay when rollouts are removed by hand.
pub(super) fn mentions(store: &Store, env: &Env) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let Some(list) = find(store, env).filter(|_| cfg!(feature = "sqlite")) else { return mentions };
    // A list that cannot be read is ignored, like the others.
    let _ = sqlite::read(&list, |db| {
        db.require("threads", &["id"])?;
        let known = db.columns("threads")?;
        let columns = ["id", "cwd", "first_user_message", "title", "name", "updated_at"];
        let cut = |column| format!("substr({column}, 1, {MAX_TEXT})");
        let columns = columns.map(|column| if known.contains(column) { cut(column) } else { "NULL".to_owned() });
        db.query(&format!("SELECT {} FROM threads", columns.join(", ")), &[], |row| {
            let Some(id) = row.filled(0) else { return };
            let at = row.filled(5).and_then(|at| instant(at.parse().ok()?));
            let mut texts: Vec<String> = [2, 3, 4].into_iter().filter_map(|at| row.filled(at)).collect();
            texts.dedup();
            mentions.extend(texts.into_iter().map(|text| Mention {
                agent: AgentKind::Codex,
                id: Some(id.clone()),
                list: list.clone(),
                entry: None,
                dir: row.filled(1).and_then(|dir| recorded::dir(&dir)).map(|dir| dir.to_path_buf()),
                at,
                text,
            }));
        })
    });
    mentions
}

struct Row {
    id: String,
    name: Option<String>,
    cwd: Option<String>,
    file: Option<String>,
    is_archived: Option<bool>,
    is_pinned: bool,
}

fn rows(db: &Db, id: Option<&str>) -> Result<Vec<Row>, QueryError> {
    db.require("threads", &["id"])?;
    let known = db.columns("threads")?;
    let bounded = |column: &str| {
        if known.contains(column) {
            format!("CASE WHEN octet_length({column}) <= {MAX_BYTES} THEN {column} END")
        } else {
            "NULL".to_owned()
        }
    };
    let name = if known.contains("name") || !known.contains("title") || !known.contains("first_user_message") {
        bounded("name")
    } else {
        format!(
            "CASE WHEN octet_length(title) <= {MAX_BYTES} \
         AND title <> substr(first_user_message, 1, length(title)) THEN title END"
        )
    };
    let mut rows = Vec::new();
    let of_one = if id.is_some() { " WHERE id = ?1" } else { "" };
    let sql = format!(
        "SELECT {}, {name}, {}, {}, {}, {} FROM threads{of_one}",
        bounded("id"),
        bounded("cwd"),
        bounded("rollout_path"),
        bounded("archived"),
        bounded("is_pinned")
    );
    db.query(&sql, id.as_slice(), |row| {
        if let Some(id) = row.filled(0) {
            let is_archived = row.int(4).map(|flag| flag != 0);
            let is_pinned = row.int(5).is_some_and(|flag| flag != 0);
            rows.push(Row { id, name: row.filled(1), cwd: row.filled(2), file: row.filled(3), is_archived, is_pinned });
        }
    })?;
    Ok(rows)
}

/// Returns whether Codex takes another file for this session than the one at `path`, because its list names another
/// one.
///
/// Codex then does not look for the session anywhere else, not even if the listed file is gone: measured on 0.169.0.
/// Without a row it searches all rollouts.
pub(super) fn names_another(listed: Option<&Path>, path: &Path, root: &Path, env: &Env) -> bool {
    let Some(listed) = listed.map(unpacked).filter(|listed| listed.is_absolute()) else { return false };
    let own = unpacked(path);
    if listed == own {
        return false;
    }
    if !env.foreign_home {
        // Only the directories are resolved, because either file may be compressed.
        let real = |path: &Path| Some((reach::canonicalize(path.parent()?).ok()?, path.file_name()?.to_owned()));
        return reach::answers(&listed) && real(&listed) != real(&own);
    }
    // In a home of another system, only the path inside the store is meaningful.
    let is_own = own.strip_prefix(root).is_ok_and(|place| listed.ends_with(place));
    let place =
        listed.ancestors().find_map(|dir| listed.strip_prefix(dir.parent()?).ok().filter(|place| is_in_store(place)));
    !is_own && place.is_some_and(|place| reach::exists(&root.join(place)) == Some(true))
}

fn is_in_store(place: &Path) -> bool {
    place.starts_with("sessions") || place.starts_with(super::rollouts::ARCHIVE)
}

/// Returns the path of a rollout before Codex compresses it.
fn unpacked(path: &Path) -> PathBuf {
    if path.extension().is_some_and(|end| end == "zst") { path.with_extension("") } else { path.to_owned() }
}

/// Finds the database in Codex's search order: `sqlite_home` of config.toml, then $CODEX_SQLITE_HOME, then the store. A
/// newer version creates one with a higher number.
fn find(store: &Store, env: &Env) -> Option<PathBuf> {
    let moved = || env.agent_variable("CODEX_SQLITE_HOME").filter(|_| store.is_default);
    let configured = configured(&store.root);
    let dir = configured.or_else(|| moved().map(|dir| env.absolute(Path::new(dir))));
    newest_in(&dir.unwrap_or_else(|| store.root.clone()))
}

/// Returns the database of a store, as far as the files of the store name its location.
pub(super) fn of_store(root: &Path) -> Option<PathBuf> {
    newest_in(&configured(root).unwrap_or_else(|| root.to_owned()))
}

/// Returns the directory that `sqlite_home` in the config.toml of a store names.
fn configured(root: &Path) -> Option<PathBuf> {
    let bytes = fsio::read_if_present(&root.join("config.toml"), MAX_CONFIG).ok()??;
    let text = String::from_utf8(bytes).ok()?;
    let dir = PathBuf::from(TomlSettings::parse(&text).top_text("sqlite_home")?);
    // In a copy of a home, the directory has another path.
    let here = || {
        let rest = dir.ancestors().find(|dir| dir.file_name() == root.file_name())?;
        dir.strip_prefix(rest).ok().map(|below| root.join(below))
    };
    if !dir.is_absolute() || newest_in(&dir).is_some() {
        return Some(dir).filter(|dir| dir.is_absolute());
    }
    // Without a list in either directory there is no list; the one in the store is not used.
    Some(here().filter(|here| newest_in(here).is_some()).unwrap_or(dir))
}

/// Returns the database in a directory, if there is one.
fn newest_in(dir: &Path) -> Option<PathBuf> {
    let number = |name: &str| name.strip_prefix("state_")?.strip_suffix(".sqlite")?.parse::<u32>().ok();
    let files = Found::default().entries(dir).into_iter().filter(|(_, kind)| kind.is_file());
    let numbered = files.filter_map(|(entry, _)| Some((number(entry.file_name().to_str()?)?, entry.path())));
    numbered.max().map(|(_, path)| path)
}
