//! The manifest of an archived session: what it is, every file of it with its chunks, and the facts that a list shows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::chunks::is_digest;
use crate::format::path_text::{self, PathText};
use crate::session::{AgentKind, Choice, Copy, Fact, Located, Session, SessionKind, Store};
use crate::system::env::Env;

/// The version of the format that this program writes; the major number changes when an older program cannot read it.
const FORMAT_VERSION: &str = "1.0";
/// The version of a manifest with rows of a database: a program that knows only files is not to take them for one.
const WITH_ROWS: &str = "2.0";
/// The kind that every manifest names.
const KIND: &str = "archived-session";
/// Where facts come from that were read from a manifest.
const SOURCE: &str = "archive";

/// One state of one session, as it was archived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// The version of the format.
    pub format_version: String,
    /// `archived-session`.
    pub kind: String,
    /// The version of the program that wrote it.
    pub rejoin_version: String,
    /// The machine that it was written on.
    pub hostname: String,
    /// When.
    pub archived_at: Timestamp,
    /// Which state of the session it is, counted from 1; the largest number is the newest.
    pub number: u64,
    /// The agent that the session belongs to.
    pub agent: AgentKind,
    /// The full id.
    pub id: String,
    /// The home directory at that time; a store below it is restored below the current home.
    pub home: PathText,
    /// The roots of the stores that its copies lay in, the chosen copy's first.
    pub stores: Vec<PathText>,
    /// The transcripts or directories of its copies, the chosen one first.
    pub copies: Vec<CopyAt>,
    /// What a list shows of it.
    pub facts: Facts,
    /// Every file, directory and link; a directory stands before what is in it.
    pub entries: Vec<Entry>,
}

/// Where a copy of the session was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CopyAt {
    /// The number of its store, counted from 0.
    pub store: usize,
    /// Its path below the store's root.
    #[serde(with = "path_text")]
    pub path: PathBuf,
}

/// What a list shows of a session; each as [`Copy`](struct@Copy) has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Facts {
    pub kind: SessionKind,
    pub title: Option<String>,
    pub first_prompt: Option<String>,
    pub launch_dir: Option<PathText>,
    pub launch_source: Option<String>,
    pub start_dir: Option<PathText>,
    pub last_dir: Option<PathText>,
    pub project: Option<String>,
    pub created_at: Option<Timestamp>,
    pub active_at: Option<Timestamp>,
    pub active_source: Option<String>,
    pub size_bytes: u64,
    pub prompts: Option<u64>,
    pub replies: Option<u64>,
    pub model: Option<String>,
    pub git_branch: Option<String>,
    pub parent_id: Option<String>,
    /// Whether some process used it, or may have, while it was archived: `live`, `maybe` or `idle`.
    pub liveness: String,
}

/// A file, a directory or a link of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The number of its store, counted from 0.
    pub store: usize,
    /// Its path below the store's root.
    #[serde(with = "path_text")]
    pub path: PathBuf,
    /// How it belongs to the session.
    pub role: Role,
    /// What it is.
    #[serde(flatten)]
    pub node: Node,
    /// Its permissions; of a link they mean nothing.
    pub mode: u32,
    /// When it was modified, in seconds since 1970 and nanoseconds.
    pub modified: (i64, i64),
}

/// How an entry belongs to its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Role {
    /// The agent needs it to find the session, and it is there for others too: put back only where it is missing.
    Companion,
    /// It belongs to the session, whichever copy is meant.
    Shared,
    /// It belongs to one copy.
    Own,
}

/// What an entry is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Node {
    /// A regular file.
    File {
        /// Its bytes.
        size: u64,
        /// The SHA-256 of its content.
        sha256: String,
        /// The SHA-256 of each chunk, in order.
        chunks: Vec<String>,
    },
    /// All rows of the session in the database at this path, a line each.
    Rows {
        /// The bytes of the lines.
        size: u64,
        /// The SHA-256 of the lines.
        sha256: String,
        /// The SHA-256 of each chunk, in order.
        chunks: Vec<String>,
    },
    /// A directory.
    Dir,
    /// A symbolic link, which is kept as one.
    Link {
        /// What it says.
        #[serde(with = "path_text")]
        target: PathBuf,
    },
}

impl Node {
    /// Returns the size, the SHA-256 and the chunks of what has any.
    pub(crate) fn content(&self) -> Option<(u64, &str, &[String])> {
        match self {
            Self::File { size, sha256, chunks } | Self::Rows { size, sha256, chunks } => Some((*size, sha256, chunks)),
            Self::Dir | Self::Link { .. } => None,
        }
    }
}

impl Facts {
    /// Takes over what was counted in a copy; of one in a database its size too.
    pub(crate) fn count(&mut self, copy: &Copy) {
        self.size_bytes = self.size_bytes.max(copy.size_bytes);
        (self.prompts, self.replies) = (copy.prompts, copy.replies);
        self.model = copy.model.as_ref().map(|model| model.value.clone());
    }
}

impl Manifest {
    /// Describes a session; its entries are still to be added.
    pub(crate) fn of(session: &Session, home: &Path, hostname: &str, now: Timestamp) -> Self {
        let copy = session.copy();
        let text = |fact: &Option<Fact<String>>| fact.as_ref().map(|fact| fact.value.clone());
        let dir = |fact: &Option<Fact<PathBuf>>| fact.as_ref().map(|fact| PathText(fact.value.clone()));
        Self {
            format_version: FORMAT_VERSION.to_owned(),
            kind: KIND.to_owned(),
            rejoin_version: env!("CARGO_PKG_VERSION").to_owned(),
            hostname: hostname.to_owned(),
            archived_at: now,
            number: 1,
            agent: session.agent,
            id: session.id.clone(),
            home: PathText(home.to_owned()),
            stores: Vec::new(),
            copies: Vec::new(),
            facts: Facts {
                kind: copy.kind,
                title: text(&copy.title),
                first_prompt: text(&copy.first_prompt),
                launch_dir: dir(&copy.launch_dir),
                launch_source: copy.launch_dir.as_ref().map(|fact| fact.source.to_owned()),
                start_dir: dir(&copy.start_dir),
                last_dir: dir(&copy.last_dir),
                project: copy.place.project.as_deref().map(str::to_owned),
                created_at: copy.created_at.as_ref().map(|at| at.value),
                active_at: copy.active_at.as_ref().map(|at| at.value),
                active_source: copy.active_at.as_ref().map(|at| at.source.to_owned()),
                size_bytes: copy.size_bytes,
                prompts: copy.prompts,
                replies: copy.replies,
                model: text(&copy.model),
                git_branch: text(&copy.git_branch),
                parent_id: copy.parent_id.clone(),
                liveness: copy.liveness.name().to_owned(),
            },
            entries: Vec::new(),
        }
    }

    /// Reads a manifest; the error says why it cannot be used.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            format_version: String,
            kind: String,
        }
        let head: Head = serde_json::from_slice(bytes).map_err(|_| "it is not a manifest".to_owned())?;
        if head.kind != KIND {
            return Err("it is not a manifest".to_owned());
        }
        let major = |version: &str| version.split('.').next().map(str::to_owned);
        if ![FORMAT_VERSION, WITH_ROWS].iter().any(|known| major(known) == major(&head.format_version)) {
            return Err(format!("its version is {}, which this rejoin does not know", head.format_version));
        }
        let manifest: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        manifest.check()?;
        Ok(manifest)
    }

    /// Checks what would lead out of a store, or to a blob that cannot be.
    fn check(&self) -> Result<(), String> {
        let copies = self.copies.iter().map(|copy| (copy.store, &copy.path));
        for (store, path) in copies.chain(self.entries.iter().map(|entry| (entry.store, &entry.path))) {
            let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
            if store >= self.stores.len() || !is_below || path.as_os_str().is_empty() {
                return Err(format!("{} is not a path in a store", path.display()));
            }
        }
        if self.copies.is_empty() {
            return Err("it names no copy".to_owned());
        }
        if !self.files().flat_map(|(_, _, chunks)| chunks).all(|chunk| is_digest(chunk)) {
            return Err("the name of a chunk is not valid".to_owned());
        }
        // What is below a path comes right after it.
        let nodes: BTreeMap<_, _> =
            self.entries.iter().map(|entry| ((entry.store, &entry.path), matches!(entry.node, Node::Dir))).collect();
        if nodes.len() < self.entries.len() {
            return Err("it names a path twice".to_owned());
        }
        let mut leaf: Option<(usize, &PathBuf)> = None;
        for ((store, path), is_dir) in nodes {
            if leaf.is_some_and(|(other, above)| store == other && path.starts_with(above)) {
                // Through a link it would be written anywhere.
                return Err(format!("{} is below something that is not a directory", path.display()));
            }
            leaf = (!is_dir).then_some((store, path));
        }
        Ok(())
    }

    /// Returns every file, and the rows of every database, with their size and their chunks.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&Entry, u64, &[String])> {
        self.entries.iter().filter_map(|entry| {
            let (size, _, chunks) = entry.node.content()?;
            Some((entry, size, chunks))
        })
    }

    /// Returns the rows of the copy that was chosen, if it lay in a database: their SHA-256 and their chunks.
    pub(crate) fn rows(&self) -> Option<(&str, &[String])> {
        let at = self.copies.first()?;
        self.rows_of(&self.stores[at.store].0.join(&at.path))
    }

    /// Returns the rows that were in the database at a path.
    pub(crate) fn rows_of(&self, database: &Path) -> Option<(&str, &[String])> {
        let entry = self.entries.iter().find(|entry| self.original(entry) == database)?;
        match &entry.node {
            Node::Rows { sha256, chunks, .. } => Some((sha256, chunks)),
            _ => None,
        }
    }

    /// Adds an entry; what an older program cannot read makes it a manifest that it does not.
    pub(crate) fn add(&mut self, entry: Entry) {
        if matches!(entry.node, Node::Rows { .. }) {
            WITH_ROWS.clone_into(&mut self.format_version);
        }
        self.entries.push(entry);
    }

    /// Returns the bytes of all files.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.files().map(|(_, size, _)| size).sum()
    }

    /// Returns the file at a path.
    pub(crate) fn file(&self, root: &Path, path: &Path) -> Option<(u64, &str, &[String])> {
        let store = self.stores.iter().position(|store| store.0 == root)?;
        let entry = self.entries.iter().find(|entry| entry.store == store && entry.path == path)?;
        entry.node.content()
    }

    /// Returns when the transcript of the first copy was modified, or the directory that it is.
    pub(crate) fn copy_modified(&self) -> Option<Timestamp> {
        let at = self.copies.first()?;
        let entry = self.entries.iter().find(|entry| entry.store == at.store && entry.path == at.path)?;
        Timestamp::new(entry.modified.0, i32::try_from(entry.modified.1).ok()?).ok()
    }

    /// Returns whether another one holds the very same files, with the same modes and times.
    ///
    /// Only the paths of shared files count, because those files change with other sessions.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        fn entry(entry: &Entry) -> (usize, &Path, Option<&Entry>) {
            (entry.store, &entry.path, Some(entry).filter(|entry| entry.role != Role::Companion))
        }
        self.stores == other.stores
            && self.copies == other.copies
            && self.entries.iter().map(entry).eq(other.entries.iter().map(entry))
    }

    /// Returns where an entry was when it was archived.
    pub(crate) fn original(&self, entry: &Entry) -> PathBuf {
        self.stores[entry.store].0.join(&entry.path)
    }

    /// Returns the session as a list shows it, each copy at its place of that time.
    pub(crate) fn session(&self) -> Session {
        let copies = self.copies.iter().map(|at| self.copy(at, self.stores[at.store].0.clone())).collect();
        Session {
            agent: self.agent,
            id: self.id.clone(),
            copies,
            choice: Choice::new("it was archived like this", true),
            pointers: Vec::new(),
            launch_dir_exists: None,
            health: BTreeSet::new(),
            is_pinned: false,
            kin: None,
        }
    }

    /// Returns where the chosen copy was.
    pub(crate) fn place(&self) -> Located {
        self.copy_in(&self.stores[self.copies[0].store].0).place
    }

    /// Returns the directories that may be the store of the chosen copy here: another machine has another home.
    pub(crate) fn roots_here(&self, env: &Env) -> Vec<PathBuf> {
        let recorded = &self.stores[self.copies[0].store].0;
        let below_home = recorded.strip_prefix(&self.home.0).ok().map(|path| env.home.join(path));
        below_home.into_iter().chain([recorded.clone()]).collect()
    }

    /// Returns where the database of the chosen copy would be here.
    pub(crate) fn database_here(&self, env: &Env) -> PathBuf {
        self.roots_here(env).swap_remove(0).join(&self.copies[0].path)
    }

    /// Returns the first copy as if its store were in another directory, where everything of that store was unpacked.
    pub(crate) fn copy_in(&self, root: &Path) -> Copy {
        let mut copy = self.copy(&self.copies[0], root.to_owned());
        let (store, path) = (self.copies[0].store, &self.copies[0].path);
        let transcript = self.files().find(|(entry, _, _)| entry.store == store && entry.path == *path);
        copy.transcript_bytes = transcript.map_or(0, |(_, size, _)| size);
        copy
    }

    fn copy(&self, at: &CopyAt, root: PathBuf) -> Copy {
        let facts = &self.facts;
        let text = |text: &Option<String>| text.clone().map(|text| Fact::new(text, SOURCE));
        let dir = |dir: &Option<PathText>| dir.clone().map(|dir| Fact::new(dir.0, SOURCE));
        let time = |at: Option<Timestamp>| at.map(|at| Fact::new(at, SOURCE));
        let mut copy = Copy::new(Located {
            path: root.join(&at.path).into(),
            store: Arc::new(Store {
                is_default: false,
                host: Some(self.hostname.as_str().into()),
                ..Store::usual(self.agent, root)
            }),
            project: facts.project.as_deref().map(Arc::from),
            id: self.id.clone(),
            side_dir: None,
            parent_id: facts.parent_id.clone(),
            is_subagent: facts.kind == SessionKind::Subagent,
        });
        copy.kind = facts.kind;
        copy.title = text(&facts.title);
        copy.first_prompt = text(&facts.first_prompt);
        copy.launch_dir = dir(&facts.launch_dir);
        copy.start_dir = dir(&facts.start_dir);
        copy.last_dir = dir(&facts.last_dir);
        copy.created_at = time(facts.created_at);
        copy.active_at = time(facts.active_at);
        copy.size_bytes = facts.size_bytes;
        copy.prompts = facts.prompts;
        copy.replies = facts.replies;
        copy.model = text(&facts.model);
        copy.git_branch = text(&facts.git_branch);
        copy.is_filed_right = true;
        copy
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;
    use crate::session::tests::{copy, session};

    /// A manifest for unit tests: one file of one chunk in one store.
    pub(crate) fn manifest(id: &str) -> Manifest {
        let session = session(vec![copy(id)]);
        let now = "2026-03-01T12:00:00Z".parse().expect("a time");
        let mut manifest = Manifest::of(&session, Path::new("/home/ana"), "examplehost", now);
        manifest.stores.push(PathText("/s".into()));
        let path = PathBuf::from(format!("projects/-p/{id}.jsonl"));
        manifest.copies.push(CopyAt { store: 0, path: path.clone() });
        let sha256 = super::super::chunks::digest(b"x");
        let node = Node::File { size: 1, sha256: sha256.clone(), chunks: vec![sha256] };
        manifest.entries.push(Entry { store: 0, path, role: Role::Own, node, mode: 0o600, modified: (5, 6) });
        manifest
    }

    #[test]
    fn a_manifest_is_read_back_as_it_was_written_with_paths_of_any_bytes() {
        let mut written = manifest("a");
        let odd = PathBuf::from(OsStr::from_bytes(b"x/\xff\n"));
        let node = Node::Link { target: odd.clone() };
        written.entries.push(Entry { store: 0, path: odd, role: Role::Shared, node, mode: 0o777, modified: (-5, 6) });
        let dir = "side".into();
        written.entries.push(Entry {
            store: 0,
            path: dir,
            role: Role::Own,
            node: Node::Dir,
            mode: 0o700,
            modified: (1, 2),
        });
        let read = Manifest::parse(&serde_json::to_vec(&written).expect("JSON")).expect("a manifest");
        assert_eq!(read, written);
        assert_eq!(read.session().id, "a");
    }

    #[test]
    fn what_leads_out_of_a_store_or_to_no_blob_is_refused() {
        let refused = |change: &dyn Fn(&mut Manifest)| {
            let mut manifest = manifest("a");
            change(&mut manifest);
            Manifest::parse(&serde_json::to_vec(&manifest).expect("JSON")).expect_err("a refusal")
        };
        for path in ["/etc/passwd", "../x", "a/../../x", "", "./x"] {
            assert!(
                refused(&|manifest| manifest.entries[0].path = path.into()).contains("not a path in a store"),
                "{path}"
            );
            assert!(
                refused(&|manifest| manifest.copies[0].path = path.into()).contains("not a path in a store"),
                "{path}"
            );
        }
        assert!(refused(&|manifest| manifest.entries[0].store = 1).contains("not a path in a store"));
        assert!(refused(&|manifest| manifest.copies.clear()).contains("no copy"));
        let odd_chunk = |manifest: &mut Manifest| {
            manifest.entries[0].node =
                Node::File { size: 1, sha256: "../x".to_owned(), chunks: vec!["../x".to_owned()] };
        };
        assert!(refused(&odd_chunk).contains("chunk"));
        assert!(refused(&|manifest| manifest.entries.push(manifest.entries[0].clone())).contains("twice"));
        let below = |node: Node| {
            refused(&|manifest| {
                let entry = |path: &str, node| Entry { path: path.into(), node, ..manifest.entries[0].clone() };
                let new = [entry("a/link/x/y", Node::Dir), entry("a/link", node.clone()), entry("a/link-2", Node::Dir)];
                manifest.entries.extend(new);
            })
        };
        for node in [Node::Link { target: "/etc".into() }, manifest("a").entries[0].node.clone()] {
            assert_eq!(below(node), "a/link/x/y is below something that is not a directory");
        }
        assert!(refused(&|manifest| manifest.format_version = "3.0".to_owned()).contains("version is 3.0"));
        assert!(refused(&|manifest| manifest.kind = "other".to_owned()).contains("not a manifest"));
    }
}
