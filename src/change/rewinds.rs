//! Links from rewound sessions to their originals: one file per session that `rewind` made,
//! `links/rewound-AGENT-ID.json` in the state directory.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::change::links;
use crate::session::{AgentKind, Origin, Session};
use crate::system::env::Env;
use crate::system::{fsio, reach};

/// The version of the files that this program writes.
const VERSION: u32 = 1;
const MAX_BYTES: u64 = 64 * 1024;
const START: &str = "rewound-";

/// A session that `rewind` made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rewound {
    format_version: u32,
    agent: AgentKind,
    id: String,
    at: Timestamp,
    /// The original session.
    origin: Origin,
}

impl Rewound {
    pub(crate) fn new(origin: &Session, id: &str, at: Timestamp) -> Self {
        let agent = origin.agent;
        let origin = Origin { agent, id: origin.id().to_owned() };
        Self { format_version: VERSION, agent, id: id.to_owned(), at, origin }
    }

    /// Returns the path of the link's file.
    pub(crate) fn file(&self, env: &Env) -> PathBuf {
        links::dir(env).join(format!("{START}{}-{}.json", self.agent, self.id))
    }
}

/// All links of rewound sessions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rewinds(Vec<Rewound>);

impl Rewinds {
    /// Reads the links; a file that cannot be parsed is skipped.
    pub(crate) fn read(env: &Env) -> Self {
        let entries = reach::read_dir(&links::dir(env)).into_iter().flatten().flatten();
        let files = entries.map(|entry| entry.path());
        let is_link = |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(START));
        let read = |path: PathBuf| {
            let bytes = fsio::read_if_present(&path, MAX_BYTES).ok()??;
            let link: Rewound = serde_json::from_slice(&bytes).ok()?;
            let is_sound = link.format_version == VERSION && link.file(env) == path;
            (is_sound && link.origin.agent == link.agent).then_some(link)
        };
        Self(files.filter(|path| is_link(path)).filter_map(read).collect())
    }

    /// Returns the original of a rewound session.
    pub(crate) fn origin_of(&self, session: &Session) -> Option<&Origin> {
        let link = self.0.iter().find(|link| link.agent == session.agent && link.id == session.id())?;
        Some(&link.origin)
    }

    /// Returns the id of the newest session that `rewind` made from another one after its last activity. It may be
    /// missing.
    pub(crate) fn made_from(&self, session: &Session) -> Option<&str> {
        let is_of = |link: &&Rewound| link.origin.agent == session.agent && link.origin.id == session.id();
        let newest = self.0.iter().filter(is_of).max_by_key(|link| link.at)?;
        session.active_at().is_some_and(|active| active <= newest.at).then_some(&*newest.id)
    }
}
