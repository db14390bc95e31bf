//! Writes the sample home that the README shows. A test compares the result with `examples/home`.
//!
//! Every session in it is invented. The troubles are those of real machines: copies of one session, a lost or
//! corrupt session-info.json, a killed first turn, a torn transcript, a pointer whose session is filed elsewhere.

mod amplifier;
mod claude;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use jiff::{SignedDuration, Timestamp};
use rejoin::jido_signature::{APP_SALTS, derive_key, sign};

use crate::generated::is_overwriting;

/// The machine whose name is a part of a JidoCode signature.
const HOST: &str = "examplehost";
/// An invented secret.
const SECRET: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// The home that is written.
struct Home(PathBuf);

impl Home {
    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&self.0))?;
        fs::write(path, text)
    }
}

/// A clock that is set once and only moves on.
struct Clock(Timestamp);

impl Clock {
    fn at(text: &str) -> Self {
        Self(text.parse().expect("a time"))
    }

    fn tick(&mut self, seconds: i64) -> Timestamp {
        self.0 = self.0.checked_add(SignedDuration::from_secs(seconds)).expect("a time of the calendar");
        self.0
    }
}

/// Returns a text as JSON.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string")
}

/// Returns a time as Python writes it.
fn python(at: Timestamp) -> String {
    format!("{at:.6}").replace('Z', "+00:00")
}

fn make(home: &Path) -> io::Result<()> {
    let home = Home(home.to_owned());
    amplifier::amplifier(&home)?;
    claude::claude(&home)?;
    leo(&home)?;
    jido(&home)
}

/// Returns the files of a home by their paths in it. `.local` is left by a user who tried the sample home.
fn files(home: &Path) -> BTreeMap<PathBuf, String> {
    let entries = walkdir::WalkDir::new(home).into_iter().map(|entry| entry.expect("an entry").into_path());
    let below = |path: PathBuf| (path.strip_prefix(home).expect("a path below").to_owned(), path);
    let files = entries.filter(|path| path.is_file()).map(below).filter(|(name, _)| !name.starts_with(".local"));
    files.map(|(name, path)| (name, String::from_utf8_lossy(&fs::read(path).expect("a file")).into_owned())).collect()
}

#[test]
fn sample_home_is_fresh() {
    let checked_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
    let dir = tempfile::tempdir().expect("a directory");
    make(dir.path()).expect("a home");
    if is_overwriting() {
        files(&checked_in).keys().for_each(|name| fs::remove_file(checked_in.join(name)).expect("a removed file"));
        make(&checked_in).expect("a home");
    }
    let (made, found) = (files(dir.path()), files(&checked_in));
    assert_eq!(found.keys().collect::<Vec<_>>(), made.keys().collect::<Vec<_>>(), "run .ci/generate");
    for (name, text) in &made {
        assert!(found[name] == *text, "examples/home/{} is stale: run .ci/generate", name.display());
    }
}

// ---------------------------------------------------------------------------------------------------------- Leo

fn leo(home: &Home) -> io::Result<()> {
    let pointer = |app: &str, id: &str, at: &str| {
        format!(
            r#"{{
  "session_id": "{id}",
  "app_path": "/workspace/app/{app}/app",
  "timestamp": "{at}",
  "context": {{
    "app_name": "{app}",
    "features": ["CRUD operations"],
    "last_modified": "{at}"
  }}
}}"#
        )
    };
    home.write(
        "workspace/app/Recipes/app/.agent_session.json",
        &pointer("Recipes", claude::RECIPES, "2026-11-19T12:08:00.123456"),
    )?;
    // Its session was deleted after 30 days, as Claude Code does.
    home.write(
        "workspace/app/Inventory/app/.agent_session.json",
        &pointer("Inventory", "f0e1d2c3-b4a5-4968-8776-5a4b3c2d1e0f", "2026-08-03T09:00:00.000000"),
    )
}

// ----------------------------------------------------------------------------------------------------- JidoCode

/// Members in which the sessions of JidoCode differ.
struct Jido<'a> {
    id: &'a str,
    name: &'a str,
    language: &'a str,
    project_path: &'a str,
    prompt: &'a str,
    reply: &'a str,
    created: &'a str,
}

impl Jido<'_> {
    /// Returns the document as JidoCode writes it, without a signature.
    fn document(&self) -> String {
        let mut clock = Clock::at(self.created);
        let mut at = |seconds| format!("{:.6}", clock.tick(seconds));
        let (created, asked, answered, closed) = (at(0), at(31), at(48), at(600));
        let (prompt, reply) = (quoted(self.prompt), quoted(self.reply));
        let Self { id, name, language, project_path, .. } = self;
        let message = &id[..8];
        format!(
            r#"{{
  "closed_at": "{closed}",
  "config": {{
    "max_tokens": 4096,
    "model": "sample-model-large",
    "provider": "anthropic",
    "temperature": 0.7
  }},
  "conversation": [
    {{
      "content": {prompt},
      "id": "{message}00000001",
      "role": "user",
      "timestamp": "{asked}"
    }},
    {{
      "content": {reply},
      "id": "{message}00000002",
      "role": "assistant",
      "timestamp": "{answered}"
    }}
  ],
  "created_at": "{created}",
  "id": "{id}",
  "language": "{language}",
  "name": "{name}",
  "project_path": "{project_path}",
  "prompt_history": [
    {prompt}
  ],
  "todos": [],
  "updated_at": "{answered}",
  "version": 1
}}"#
        )
    }
}

fn jido(home: &Home) -> io::Result<()> {
    home.write(".jido_code/machine_secret", SECRET)?;
    let signed = Jido {
        id: "b1a2c3d4-e5f6-4789-8abc-def012345678",
        name: "Port the importer",
        language: "elixir",
        project_path: "/usr/share",
        prompt: "the importer reads whole files into memory, make it a stream",
        reply: "It reads line by line now; the peak fell from 1.2 GB to 30 MB on the largest export.",
        created: "2026-11-10T15:00:00.000000Z",
    };
    let key = derive_key(APP_SALTS[0], SECRET, HOST);
    let text = sign(signed.document().as_bytes(), &key).map_err(io::Error::other)?;
    let text = String::from_utf8(text).map_err(io::Error::other)?;
    home.write(&format!(".jido_code/sessions/{}.json", signed.id), &text)?;

    // From before JidoCode signed its files.
    let unsigned = Jido {
        id: "8e7d6c5b-4a39-4281-9706-f5e4d3c2b1a0",
        name: "Scratch calculator",
        language: "rust",
        project_path: "/tmp",
        prompt: "a calculator for subnet masks, one file",
        reply: "One file, 80 lines, with a table of the common masks at the end.",
        created: "2026-06-03T12:10:00.000000Z",
    };
    home.write(&format!(".jido_code/sessions/{}.json", unsigned.id), &unsigned.document())
}
