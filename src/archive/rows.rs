//! The rows of a session in a database: the current rows as chunks, and archived rows as lines.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::chunks::CHUNK_BYTES;
use super::{Archive, MachineDir};
use crate::agent::{self, Agent};
use crate::error::PathError;
use crate::format::sqlite::rows::{self, CapturedRows, OwnedValue, RowOwnership, RowTable, SessionTables};
use crate::format::sqlite::{self, QueryError};
use crate::format::text::hex;
use crate::session::{AgentKind, Located};
use crate::system::parallel;

/// The text between a row's number and its values.
const NUMBERED: &[u8] = b",\"row\":[";
/// Number of sessions per read of a database, which starts over if the database changes.
const AT_ONCE: usize = 64;

/// Reason why the rows of a session cannot be read.
#[derive(Debug)]
pub(super) enum RowsError {
    /// The database no longer has the session.
    Missing,
    /// The database cannot be read, or only in part.
    Unread(PathError),
    /// Writing the rows to the archive failed.
    Refused(io::Error),
}

/// Passes the rows of a session to `see` in chunks, and returns their size in bytes and their SHA-256.
///
/// Starts over from the first chunk, with `true`, if the database changed during the read.
pub(super) fn read_chunks(
    place: &Located,
    agent: &dyn Agent,
    see: &mut dyn FnMut(&[u8], bool) -> io::Result<()>,
) -> Result<(u64, String), RowsError> {
    let agent_managed = agent.agent_managed(place).ok_or(RowsError::Missing)?;
    let read = sqlite::read(&place.path, |db| {
        let (mut whole, mut size, mut chunk) = (Sha256::new(), 0_u64, Vec::new());
        let captured = SessionTables::find_in(db, &agent_managed.owned)?.capture(&place.id, &mut |line| {
            whole.update(line);
            chunk.extend_from_slice(line);
            while chunk.len() >= CHUNK_BYTES {
                see(&chunk[..CHUNK_BYTES], size == 0)?;
                size += CHUNK_BYTES as u64;
                chunk.drain(..CHUNK_BYTES);
            }
            Ok(())
        })?;
        let last = if chunk.is_empty() { Ok(()) } else { see(&chunk, size == 0) };
        let captured = match (captured, last) {
            (CapturedRows::Whole, Err(error)) => CapturedRows::Refused(error),
            (captured, _) => captured,
        };
        Ok((captured, size + chunk.len() as u64, hex(&whole.finalize())))
    });
    match read.map_err(RowsError::Unread)? {
        (CapturedRows::Whole, size, sha256) => Ok((size, sha256)),
        (CapturedRows::Missing, ..) => Err(RowsError::Missing),
        (CapturedRows::Refused(error), ..) => Err(RowsError::Refused(error)),
    }
}

/// Sizes of the rows of sessions in bytes, by database and id.
pub(super) type Sizes = HashMap<(Arc<Path>, String), u64>;

/// Computes the sizes of the rows of those places that are in databases and not in the archive; skips rows that cannot
/// be read.
pub(super) fn sizes<'p>(places: impl Iterator<Item = &'p Located>, archive: &Archive) -> Sizes {
    let agent_managed = |place: &Located| agent::by_kind(place.agent())?.agent_managed(place);
    let own = archive.own();
    let is_new = |place: &Located| {
        own.as_ref().is_none_or(|own| matches!(own.metadata_of(&own.session_dir(place.agent(), &place.id)), Ok(None)))
    };
    let mut by_database: BTreeMap<(&Arc<Path>, AgentKind), Vec<&Located>> = BTreeMap::new();
    for place in places.filter(|place| agent_managed(place).is_some()) {
        if is_new(place) {
            by_database.entry((&place.path, place.agent())).or_default().push(place);
        }
    }
    let parts = by_database.iter().flat_map(|((path, _), places)| {
        let owned = agent_managed(places[0]).map(|agent_managed| &agent_managed.owned);
        places.chunks(AT_ONCE).filter_map(move |places| Some((*path, owned?, places)))
    });
    let sizes = parallel::map(parts, |(path, owned, places)| {
        let read = sqlite::read(path, |db| {
            let mut tables = SessionTables::find_in(db, owned)?;
            places.iter().map(|place| size(&mut tables, &place.id)).collect::<Result<Vec<_>, _>>()
        });
        let sizes = places.iter().zip(read.unwrap_or_default());
        sizes.filter_map(|(place, size)| Some(((Arc::clone(path), place.id.clone()), size?))).collect::<Vec<_>>()
    });
    sizes.into_iter().flatten().collect()
}

/// Returns the size of one session's rows in bytes; `None` if the session is not there.
fn size(tables: &mut SessionTables<'_>, id: &str) -> Result<Option<u64>, QueryError> {
    let mut size = 0;
    let captured = tables.capture(id, &mut |line| {
        size += line.len() as u64;
        Ok(())
    })?;
    Ok(matches!(captured, CapturedRows::Whole).then_some(size))
}

/// Checks whether a session has exactly the rows that an archive has of it. Rows that it shares with other sessions are
/// not compared, and neither are row numbers, because a row that is added again may get another number.
pub(crate) fn are_same(place: &Located, agent: &dyn Agent, then: (&str, &[String]), dir: &MachineDir) -> bool {
    let mut now = Vec::new();
    let captured = read_chunks(place, agent, &mut |chunk, is_first| {
        if is_first {
            now.clear();
        }
        now.extend_from_slice(chunk);
        Ok(())
    });
    let rows = |lines: &mut dyn BufRead| {
        let mut rows = RowDigests { with_session: true, ..RowDigests::default() };
        rows::read(lines, &mut rows).ok().map(|()| rows.rows)
    };
    captured.is_ok() && rows(&mut now.as_slice()).is_some_and(|now| rows(&mut lines(then, dir)) == Some(now))
}

/// Reads archived rows from their SHA-256 and chunks; checks each chunk, and at the end all rows.
pub(crate) fn lines<'a>((sha256, chunks): (&'a str, &'a [String]), dir: &'a MachineDir) -> impl BufRead + 'a {
    BufReader::new(RowsContent { dir, sha256, rest: chunks.iter(), digest: Sha256::new(), chunk: Vec::new(), at: 0 })
}

struct RowsContent<'a> {
    dir: &'a MachineDir,
    sha256: &'a str,
    rest: std::slice::Iter<'a, String>,
    digest: Sha256,
    chunk: Vec<u8>,
    at: usize,
}

impl Read for RowsContent<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.chunk.len() {
            let Some(name) = self.rest.next() else {
                let is_whole = hex(&self.digest.clone().finalize()) == self.sha256;
                return if is_whole { Ok(0) } else { Err(io::Error::other("its chunks do not add up to its rows")) };
            };
            self.chunk = self.dir.content(name).map_err(io::Error::other)?;
            self.digest.update(&self.chunk);
            self.at = 0;
        }
        let count = buffer.len().min(self.chunk.len() - self.at);
        buffer[..count].copy_from_slice(&self.chunk[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Checks whether every row of an older state is unchanged in a newer one, each in its machine's directory. The
/// session's own row and rows that it shares with other sessions are not compared, because every turn changes them.
pub(super) fn are_within(old: (&MachineDir, (&str, &[String])), new: (&MachineDir, (&str, &[String]))) -> bool {
    let mut known = RowDigests::default();
    let mut requested = RowDigests::default();
    let is_read =
        rows::read(lines(new.1, new.0), &mut known).and_then(|()| rows::read(lines(old.1, old.0), &mut requested));
    is_read.is_ok() && requested.rows.is_subset(&known.rows)
}

/// The digests of rows.
#[derive(Default)]
struct RowDigests {
    table: Option<String>,
    /// Set to include the session's own row, and to ignore row numbers.
    with_session: bool,
    rows: HashSet<[u8; 32]>,
}

impl rows::RowReader for RowDigests {
    fn table(&mut self, table: &RowTable) -> io::Result<()> {
        let counts = table.part == RowOwnership::Rows || (self.with_session && table.part == RowOwnership::Session);
        self.table = counts.then(|| table.table.clone());
        Ok(())
    }

    fn row(&mut self, _: Option<i64>, _: Vec<OwnedValue>, line: &[u8]) -> io::Result<()> {
        if let Some(table) = &self.table {
            let values = || line.windows(NUMBERED.len()).position(|part| part == NUMBERED).map(|at| &line[at..]);
            let line = if self.with_session { values().unwrap_or(line) } else { line };
            self.rows.insert(Sha256::new().chain_update(table).chain_update([0]).chain_update(line).finalize().into());
        }
        Ok(())
    }
}
