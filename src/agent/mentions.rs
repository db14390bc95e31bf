//! Finds sessions that an agent's other files name: its lists of prompts, and its indexes of sessions. These remain
//! when the files of a session are gone.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::value::RawValue;

use super::Found;
use crate::format::json::{self, inner, member, members, record};
use crate::format::jsonl::each_line;
use crate::format::turn;
use crate::session::{AgentKind, Store, recorded};
use crate::system::fsio;

/// Maximum size of a list that is one document.
const MAX_LIST: u64 = 64 * 1024 * 1024;

/// A list below the root of a store, and the members of its records; a member that the records do not have has an empty
/// name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListAt {
    /// The path below the root; a `*` matches any name of a directory.
    pub path: &'static str,
    /// The id of the session, a prompt or title, its time, and the directory of the session. Several names of texts are
    /// separated by blanks.
    pub names: [&'static str; 4],
}

/// A session that is recorded in a list of its agent.
#[derive(Clone, Debug)]
pub(crate) struct Mention {
    pub agent: AgentKind,
    /// The id; `None` for an entry without one.
    pub id: Option<String>,
    /// The list, or the directory of an index.
    pub list: PathBuf,
    /// The entry, if it is a separate file.
    pub entry: Option<PathBuf>,
    pub dir: Option<PathBuf>,
    pub at: Option<Timestamp>,
    /// A prompt, or the title.
    pub text: String,
}

/// Finds the mentions in the lists of a store that `About` describes. A list that cannot be read is ignored.
pub(super) fn in_lists(agent: AgentKind, lists: &[ListAt], store: &Store) -> Vec<Mention> {
    let mut mentions = Vec::new();
    for list in lists {
        for path in paths(&store.root, list.path) {
            let mut see = |raw: &RawValue| mentions.extend(list.mentions(agent, &path, raw));
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                let _ = each_line(&path, &mut |line| {
                    record::<&RawValue>(line).into_iter().for_each(&mut see);
                    ControlFlow::Continue(())
                });
            } else if let Ok(Some(bytes)) = fsio::read_if_present(&path, MAX_LIST) {
                let document: Option<&RawValue> = serde_json::from_slice(&bytes).ok();
                // The list may be a member of the document.
                json::list(member(document, "entries").or(document)).into_iter().for_each(see);
            }
        }
    }
    mentions
}

/// Returns the paths of a list; existence is checked only for a list in several directories.
fn paths(root: &Path, path: &str) -> Vec<PathBuf> {
    match path.split_once("/*/") {
        Some((dir, name)) => Found::default().dirs(&root.join(dir)).into_iter().map(|dir| dir.join(name)).collect(),
        None => vec![root.join(path)],
    }
}

impl ListAt {
    /// Returns a mention for each text of a record, or one without a text.
    fn mentions(&self, agent: AgentKind, list: &Path, raw: &RawValue) -> Vec<Mention> {
        let [id, _, at, dir] = members(Some(raw), self.names);
        let text_of = |raw| inner::<json::Text<'_>>(raw).filled().map(str::to_owned);
        let at = inner::<json::Text<'_>>(at).instant().or_else(|| turn::instant(at?.get().parse().ok()?));
        let dir = text_of(dir).and_then(|dir| recorded::dir(&dir)).map(|dir| dir.to_path_buf());
        let Some(id) = text_of(id) else { return Vec::new() };
        let mut texts: Vec<String> =
            self.names[1].split(' ').filter_map(|name| text_of(member(Some(raw), name))).collect();
        texts.dedup();
        if texts.is_empty() {
            texts.push(String::new());
        }
        let mention = |text| Mention {
            agent,
            id: Some(id.clone()),
            list: list.to_owned(),
            entry: None,
            dir: dir.clone(),
            at,
            text,
        };
        texts.into_iter().map(mention).collect()
    }
}
