//! Targets of `cargo fuzz`, for text from other programs. Each function panics if a guarantee is broken.

use std::cell::LazyCell;
use std::path::Path;
use std::sync::Arc;

use crate::archive::Manifest;
use crate::change::apply::history;
use crate::commands::complete;
use crate::config::Config;
use crate::fleet::row;
use crate::format::shell;
use crate::session::Role;
use crate::session::select::SortKey;
use crate::system::env::Env;
use crate::view::render::export::safety;

/// Exports a conversation as Markdown. A line that begins with a byte below 3 begins a message of another role.
pub fn markdown(data: &[u8]) {
    let mut messages: Vec<(Role, String)> = Vec::new();
    for line in String::from_utf8_lossy(data).split_inclusive('\n') {
        let role = match line.as_bytes().first() {
            Some(0) => Some(Role::Assistant),
            Some(1) => Some(Role::User),
            Some(2) => Some(Role::Tool),
            _ => None,
        };
        match (role, messages.last_mut()) {
            (None, Some((_, text))) => text.push_str(line),
            (role, _) => messages
                .push((role.unwrap_or(Role::Assistant), line.trim_start_matches(['\0', '\u{1}', '\u{2}']).to_owned())),
        }
    }
    let fault = HOME.with(|env| safety::fault(&messages, env));
    assert!(fault.is_none(), "{}", fault.unwrap_or_default());
}

/// Parses a row of another host.
pub fn host_row(data: &[u8]) {
    let Ok(line) = std::str::from_utf8(data) else { return };
    let host: Arc<str> = "box".into();
    if let Ok(session) = row::session(line, &host) {
        assert_eq!(session.host(), Some("box"));
    }
    let _ = row::place(line, &host, SortKey::Active);
    if let Some(line) = row::with_host(line, "box").filter(|_| row::is_object(line)) {
        let fields: serde_json::Value = serde_json::from_str(&line).expect("an object");
        assert_eq!(fields["host"], "box", "{line}");
    }
}

/// Parses a manifest of an archive.
pub fn manifest(data: &[u8]) {
    let Ok(manifest) = Manifest::parse(data) else { return };
    let root = Path::new("/unpacked");
    assert!(manifest.copy_in(root).place.path.starts_with(root));
    HOME.with(|env| (manifest.place(), manifest.roots_here(env), manifest.database_here(env)));
}

/// Parses a journal with its plan.
pub fn journal(data: &[u8]) {
    thread_local! {
        static STATE: LazyCell<(tempfile::TempDir, Env)> = LazyCell::new(|| {
            let dir = tempfile::tempdir().expect("a directory");
            let env = Env::read(Some(dir.path())).expect("a home");
            (dir, env)
        });
    }
    STATE.with(|state| {
        let env = &state.1;
        let runs = env.state_dir().join("runs");
        let path = runs.join("20260301-120000.jsonl");
        crate::system::disk::make_dirs(&crate::system::disk::SYSTEM, &runs, crate::system::disk::Access::Private)
            .expect("a directory");
        crate::system::disk::replace(&crate::system::disk::SYSTEM, &path, data).expect("a journal");
        let history = history::read(env).expect("journals");
        assert!(history.runs.iter().all(|run| run.id == "20260301-120000"));
        assert!(history.runs.len() + history.problems.len() <= 1);
    });
}

/// Completes a word for a shell.
pub fn completion_word(data: &[u8]) {
    let Ok(word) = std::str::from_utf8(data) else { return };
    if !word.is_empty() && complete::is_a_word(word) {
        let quoted = shell::word(word);
        assert!(quoted == word || quoted == format!("'{word}'"), "a shell takes {word:?} for {quoted}");
    }
}

/// Parses a config file.
pub fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = Config::parse(text, Path::new("/config.toml"));
}

thread_local! {
    static HOME: LazyCell<Env> = LazyCell::new(|| Env::read(Some(Path::new("/"))).expect("a home"));
}
