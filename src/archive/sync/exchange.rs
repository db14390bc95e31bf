//! The objects that two archives exchange: the records of machines, the states that they name, and the blobs of those.
//!
//! An object is a line of text, its name and its bytes in base64. Blobs come first and records last, so an archive that
//! receives a part of them is whole.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::machines::{Machine, record_name};
use crate::archive::chunks::{MAX_BLOB_BYTES, digest, is_digest, unpack};
use crate::archive::store::{Holdings, MAX_MANIFEST, manifest_name};
use crate::archive::{Archive, Manifest};
use crate::system::disk::{self, Access};

/// Upper bound on the characters of a line.
pub(crate) const MOST_LINE: usize = 64 * 1024 * 1024;

/// Lists the objects of an archive. The name of a machine's record is followed by a digest, because records change.
pub(crate) fn objects(archive: &Archive, holdings: &Holdings, machines: &[Machine]) -> Vec<String> {
    let named: BTreeSet<&str> = machines.iter().flat_map(Machine::states).collect();
    let (mut blobs, mut manifests) = (BTreeSet::new(), BTreeSet::new());
    for snapshot in holdings.snapshots() {
        if !named.contains(snapshot.digest()) {
            continue;
        }
        let chunks = snapshot.manifest.files().flat_map(|(_, _, chunks)| chunks);
        blobs.extend(
            chunks.filter(|chunk| matches!(archive.look(&archive.blob(chunk)), Ok(Some(_)))).map(|it| blob(it)),
        );
        manifests.extend(name_of(archive, &snapshot.path));
    }
    let records = machines.iter().filter_map(|machine| {
        let path = archive.record_of(&machine.id);
        let bytes = disk::read_if_present(archive.disk(), &path, MAX_MANIFEST).ok()??;
        Some(format!("{} {}", name_of(archive, &path)?, digest(&bytes)))
    });
    blobs.into_iter().chain(manifests).chain(records).collect()
}

fn blob(chunk: &str) -> String {
    format!("blobs/{}/{chunk}.zst", &chunk[..2])
}

fn name_of(archive: &Archive, path: &Path) -> Option<String> {
    path.strip_prefix(archive.root()).ok()?.to_str().map(str::to_owned)
}

/// Encodes an object of a list as a line; `None` if it is gone, or too long for a line.
pub(crate) fn line(archive: &Archive, object: &str) -> io::Result<Option<String>> {
    let name = object.split(' ').next().unwrap_or_default();
    let Some(kind) = Kind::of(name) else { return Ok(None) };
    let bytes = disk::read_if_present(archive.disk(), &archive.root().join(name), kind.limit())?;
    let line = bytes.map(|bytes| format!("{name} {}", STANDARD.encode(bytes)));
    Ok(line.filter(|line| line.len() < MOST_LINE))
}

/// The kind of an object, by its name.
enum Kind<'n> {
    Blob(&'n str),
    Manifest,
    Record(&'n str),
}

impl<'n> Kind<'n> {
    /// Parses a name; `None` if this program does not write such names.
    fn of(name: &'n str) -> Option<Self> {
        let parts: Vec<&str> = name.split('/').collect();
        match parts.as_slice() {
            ["blobs", start, file] => {
                let chunk = file.strip_suffix(".zst").filter(|chunk| is_digest(chunk) && chunk.starts_with(start))?;
                (start.len() == 2).then_some(Self::Blob(chunk))
            }
            ["machines", file] => Some(Self::Record(record_name(file)?)),
            ["sessions", agent, session, _] if ![agent, session].iter().any(|part| part.starts_with('.')) => {
                Some(Self::Manifest)
            }
            _ => None,
        }
    }

    fn limit(&self) -> u64 {
        if matches!(self, Self::Blob(_)) { MAX_BLOB_BYTES } else { MAX_MANIFEST }
    }
}

/// Stores the object of a line in an archive, and returns whether it was new. Skips the record of the machine `own`,
/// because only that machine writes it, and a record that is older than the present one.
///
/// # Errors
///
/// The line is not an object, or its bytes do not match its name; the error is the reason.
pub(crate) fn receive(archive: &Archive, own: &str, line: &str) -> Result<bool, String> {
    let (name, text) = line.split_once(' ').ok_or("a line of the answer is not an object")?;
    let bytes = STANDARD.decode(text).map_err(|_| format!("{name} is not in base64"))?;
    let fail = |why: &str| format!("{name}: {why}");
    match Kind::of(name).ok_or_else(|| fail("it is not the name of an object"))? {
        Kind::Blob(chunk) => drop(unpack(&bytes, chunk).map_err(fail)?),
        Kind::Manifest => {
            let manifest = Manifest::parse(&bytes).map_err(|why| fail(&why))?;
            let dir = archive.session_dir(manifest.agent, &manifest.id);
            let path = dir.join(manifest_name(manifest.number, &bytes));
            if name_of(archive, &path).as_deref() != Some(name) {
                return Err(fail("its bytes do not match its name"));
            }
        }
        Kind::Record(id) => {
            let machine = Machine::parse(&bytes, id).map_err(|why| fail(&why))?;
            let known = archive.machine(&archive.root().join(name), id)?;
            if id == own || known.is_some_and(|known| known.written_at > machine.written_at) {
                return Ok(false);
            }
        }
    }
    let path = archive.root().join(name);
    let put = disk::make_dirs(archive.disk(), path.parent().unwrap_or(&path), Access::Private);
    put.map_err(|error| fail(&crate::error::reason(&error)))?;
    disk::save(archive.disk(), &path, Access::Private, &bytes).map_err(|error| error.to_string())?;
    Ok(true)
}
