//! Agents that keep their sessions in a database: OpenCode, Kilo, Hermes and Goose.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::{Generator, Project};

/// The databases that are being written, each in one transaction.
#[derive(Default)]
pub(super) struct Databases(BTreeMap<PathBuf, Connection>);

impl Databases {
    /// Returns the database, with these tables if it is new.
    pub(super) fn open(&mut self, path: &Path, tables: &str) -> io::Result<&Connection> {
        if !self.0.contains_key(path) {
            if let Some(dir) = path.parent() {
                fs::create_dir_all(dir)?;
            }
            let made = Connection::open(path).and_then(|connection| {
                connection.pragma_update(None, "journal_mode", "WAL")?;
                connection.pragma_update(None, "synchronous", "OFF")?;
                connection.execute_batch(tables)?;
                connection.execute_batch("BEGIN")?;
                Ok(connection)
            });
            self.0.insert(path.to_owned(), made.map_err(io::Error::other)?);
        }
        self.0.get(path).ok_or_else(|| io::Error::other("a database is gone"))
    }

    /// Closes all of them and returns how many files that are, and how many bytes.
    pub(super) fn finish(&mut self) -> io::Result<(usize, usize)> {
        let (mut files, mut bytes) = (0, 0);
        for (path, connection) in std::mem::take(&mut self.0) {
            connection.execute_batch("COMMIT").map_err(io::Error::other)?;
            connection.close().map_err(|(_, error)| io::Error::other(error))?;
            files += 1;
            bytes += usize::try_from(path.metadata()?.len()).unwrap_or_default();
        }
        Ok((files, bytes))
    }
}

const OPENCODE: &str = "
    CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text NOT NULL,
        directory text NOT NULL, title text NOT NULL, version text NOT NULL, model text,
        time_created integer NOT NULL, time_updated integer NOT NULL, time_archived integer);
    CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
        time_updated integer NOT NULL, data text NOT NULL);
    CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
    CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
        time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
    CREATE INDEX part_message_id_id_idx ON part (message_id, id);
    CREATE INDEX part_session_idx ON part (session_id);";

const GOOSE: &str = "
    CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
    INSERT INTO schema_version VALUES (17);
    CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
        session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL, created_at TIMESTAMP, updated_at TIMESTAMP,
        extension_data TEXT DEFAULT '{}', model_config_json TEXT, archived_at TIMESTAMP, parent_session_id TEXT);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL,
        role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, metadata_json TEXT);
    CREATE INDEX idx_messages_session ON messages (session_id);";

const HERMES: &str = "
    CREATE TABLE schema_version (version INTEGER NOT NULL);
    INSERT INTO schema_version VALUES (22);
    CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT, model_config TEXT,
        parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, cwd TEXT, git_branch TEXT,
        title TEXT, archived INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,
        content TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, active INTEGER NOT NULL DEFAULT 1,
        compacted INTEGER NOT NULL DEFAULT 0);
    CREATE INDEX idx_messages_session ON messages (session_id, timestamp);";

impl Generator {
    pub(super) fn opencode(&mut self, project: &Project, _number: usize) -> io::Result<String> {
        self.in_tables_of_opencode(project, ".local/share/opencode/opencode.db")
    }

    pub(super) fn kilo(&mut self, project: &Project, _number: usize) -> io::Result<String> {
        self.in_tables_of_opencode(project, ".local/share/kilo/kilo.db")
    }

    fn in_tables_of_opencode(&mut self, project: &Project, path: &str) -> io::Result<String> {
        let mut session = self.session(project);
        let id = format!("ses_{}", self.hex(26));
        let (title, start) = (self.prose(30), session.at.as_millisecond());
        let mut rows = Vec::new();
        for turn in 0..6 {
            let (at, said, answer) = (session.tick(6_000).as_millisecond(), self.prose(500), self.prose(1_200));
            let (data, parts) = if turn % 2 == 0 {
                (
                    format!(r#"{{"role":"user","time":{{"created":{at}}}}}"#),
                    vec![format!(r#"{{"type":"text","text":"{said}"}}"#)],
                )
            } else {
                let tool = format!(
                    r#"{{"type":"tool","tool":"bash","callID":"c","state":{{"status":"completed","output":"{answer}"}}}}"#
                );
                let text = format!(r#"{{"type":"text","text":"{said}"}}"#);
                let parts =
                    vec![r#"{"type":"step-start"}"#.to_owned(), tool, text, r#"{"type":"step-finish"}"#.to_owned()];
                (
                    format!(
                        r#"{{"role":"assistant","modelID":"model-large-1","providerID":"maker","time":{{"created":{at}}}}}"#
                    ),
                    parts,
                )
            };
            rows.push((format!("msg_{turn}{}", &id[4..]), at, data, parts));
        }
        let database = self.databases.open(&self.root.join(path), OPENCODE)?;
        let insert = || {
            let model = r#"{"id":"model-large-1","providerID":"maker"}"#;
            database.execute(
                "INSERT INTO session VALUES (?1, 'global', NULL, 'quiet-fox', ?2, ?3, '1.18.33', ?4, ?5, ?6, NULL)",
                params![id, project.dir, title, model, start, session.at.as_millisecond()],
            )?;
            for (message, at, data, parts) in &rows {
                database.execute("INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)", params![message, id, at, data])?;
                for (number, part) in parts.iter().enumerate() {
                    let name = format!("prt_{number}{}", &message[4..]);
                    database.execute(
                        "INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)",
                        params![name, message, id, at, part],
                    )?;
                }
            }
            Ok::<(), rusqlite::Error>(())
        };
        insert().map_err(io::Error::other)?;
        Ok(id)
    }

    pub(super) fn hermes(&mut self, project: &Project, number: usize) -> io::Result<String> {
        let mut session = self.session(project);
        let id = format!("{}_{number:06x}", session.at.strftime("%Y%m%d_%H%M%S"));
        let start = session.at.as_second();
        let mut rows = Vec::new();
        for turn in 0..6 {
            let (at, said) = (session.tick(6_000).as_second(), self.prose(if turn % 2 == 0 { 80 } else { 1_500 }));
            rows.push((if turn % 2 == 0 { "user" } else { "assistant" }, said, at));
        }
        let database = self.databases.open(&self.root.join(".hermes/state.db"), HERMES)?;
        let insert = || {
            database.execute(
                "INSERT INTO sessions (id, source, model, model_config, started_at, cwd)
                 VALUES (?1, 'cli', 'model-large-1', '{}', ?2, ?3)",
                params![id, start, project.dir],
            )?;
            for (role, content, at) in &rows {
                database.execute(
                    "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?1, ?2, ?3, ?4)",
                    params![id, role, content, at],
                )?;
            }
            Ok::<(), rusqlite::Error>(())
        };
        insert().map_err(io::Error::other)?;
        Ok(id)
    }

    pub(super) fn goose(&mut self, project: &Project, number: usize) -> io::Result<String> {
        let mut session = self.session(project);
        let id = format!("20260105_{number}");
        let (name, start) = (self.prose(30), session.at.strftime("%Y-%m-%d %H:%M:%S").to_string());
        let mut rows = Vec::new();
        for turn in 0..6 {
            let (at, said) = (session.tick(6_000).as_second(), self.prose(if turn % 2 == 0 { 80 } else { 1_500 }));
            let role = if turn % 2 == 0 { "user" } else { "assistant" };
            rows.push((role, format!(r#"[{{"type":"text","text":"{said}"}}]"#), at));
        }
        let end = session.at.strftime("%Y-%m-%d %H:%M:%S").to_string();
        let database = self.databases.open(&self.root.join(".local/share/goose/sessions/sessions.db"), GOOSE)?;
        let insert = || {
            database.execute("INSERT INTO sessions (id, name, working_dir, created_at, updated_at, model_config_json) VALUES (?1, ?2, ?3, ?4, ?5, ?6)", params![id, name, project.dir, start, end, r#"{"model_name":"model-large-1"}"#])?;
            for (role, content, at) in &rows {
                database.execute(
                    "INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES (?1, ?2, ?3, ?4)",
                    params![id, role, content, at],
                )?;
            }
            Ok::<(), rusqlite::Error>(())
        };
        insert().map_err(io::Error::other)?;
        Ok(id)
    }
}
