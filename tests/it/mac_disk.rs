//! A file system like that of most Macs, simulated if Linux lets a test mount one: names keep their spelling, but case
//! and the two forms of an accent do not distinguish names. It is in memory; the kernel accesses it through FUSE
//! (protocol 7.31, as in linux/fuse.h).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::io::Errno;
use unicode_normalization::UnicodeNormalization as _;

const DIR: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const KIND: u32 = 0o170_000;
/// Maximum bytes per write request.
const MOST: u32 = 128 * 1024;

/// Mounts an empty file system for the lifetime of this process.
pub(crate) fn mount_at(dir: &Path) -> std::io::Result<()> {
    let device = File::options().read(true).write(true).open("/dev/fuse")?;
    let options = "fd=0,rootmode=40000,user_id=0,group_id=0,default_permissions";
    let mut mount = Command::new("mount");
    mount.args(["-i", "-t", "fuse", "-o", options, "rejoin-test"]).arg(dir).stdin(device.try_clone()?);
    let output = mount.output()?;
    if !output.status.success() {
        return Err(std::io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    std::thread::spawn(move || serve(device));
    Ok(())
}

fn serve(mut device: File) {
    let mut volume = Volume { nodes: vec![Node::new(DIR | 0o755), Node::new(DIR | 0o755)] };
    let mut request = vec![0; MOST as usize + 4096];
    while let Ok(length) = device.read(&mut request) {
        let (head, body) = request[..length].split_at(40);
        let (operation, unique) = (number(head, 4), wide(head, 8));
        let answer = volume.answer(operation, wide(head, 16), (number(head, 24), number(head, 28)), body);
        let (error, payload) = match answer {
            Ok(Some(payload)) => (0, payload),
            // This request has no answer.
            Ok(None) => continue,
            Err(error) => (-error.raw_os_error(), Vec::new()),
        };
        let mut message = Fields::default();
        message.u32(u32::try_from(payload.len() + 16).unwrap_or(0)).u32(error.cast_unsigned()).u64(unique);
        message.0.extend(payload);
        // An interrupted request needs no answer.
        let _ = device.write(&message.0);
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn wide(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn place(number: u64) -> usize {
    usize::try_from(number).expect("a size of this machine")
}

fn names(bytes: &[u8]) -> impl Iterator<Item = OsString> + '_ {
    bytes.split(|byte| *byte == 0).map(|name| OsString::from_vec(name.to_vec()))
}

/// Returns the common form of all spellings of a name.
fn folded(name: &OsString) -> Vec<u8> {
    match name.to_str() {
        Some(name) => name.nfd().collect::<String>().to_lowercase().nfd().collect::<String>().into_bytes(),
        None => name.as_bytes().to_vec(),
    }
}

#[derive(Default)]
struct Fields(Vec<u8>);

impl Fields {
    fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_ne_bytes());
        self
    }
}

/// Seconds and nanoseconds of a time.
type Time = (u64, u32);

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_secs(), since.subsec_nanos())
}

struct Node {
    mode: u32,
    owner: (u32, u32),
    names: u32,
    times: [Time; 3],
    /// The contents of a file, or the target of a link.
    bytes: Vec<u8>,
    /// The entries of a directory: the spelling and the node of each name.
    entries: BTreeMap<Vec<u8>, (OsString, u64)>,
}

impl Node {
    fn new(mode: u32) -> Self {
        let (owner, times) = ((0, 0), [now(); 3]);
        Self { mode, owner, names: 1, times, bytes: Vec::new(), entries: BTreeMap::new() }
    }

    fn is_dir(&self) -> bool {
        self.mode & KIND == DIR
    }
}

struct Volume {
    /// Nodes by their numbers; 1 is the root. Removed ones are kept, because they may be open.
    nodes: Vec<Node>,
}

type Answer = Result<Option<Vec<u8>>, Errno>;

impl Volume {
    fn node(&mut self, number: u64) -> &mut Node {
        &mut self.nodes[place(number)]
    }

    fn find(&mut self, dir: u64, name: &OsString) -> Option<u64> {
        self.node(dir).entries.get(&folded(name)).map(|(_, node)| *node)
    }

    fn touch(&mut self, dir: u64) {
        let now = now();
        let [_, modified, changed] = &mut self.node(dir).times;
        (*modified, *changed) = (now, now);
    }

    fn put(&mut self, dir: u64, name: OsString, node: u64) {
        self.node(dir).entries.insert(folded(&name), (name, node));
        self.touch(dir);
    }

    fn take(&mut self, dir: u64, name: &OsString) -> Result<u64, Errno> {
        let (_, node) = self.node(dir).entries.remove(&folded(name)).ok_or(Errno::NOENT)?;
        self.touch(dir);
        Ok(node)
    }

    fn make(&mut self, dir: u64, name: OsString, mode: u32, owner: (u32, u32)) -> Result<u64, Errno> {
        if self.find(dir, &name).is_some() {
            return Err(Errno::EXIST);
        }
        self.nodes.push(Node { owner, ..Node::new(mode) });
        let number = self.nodes.len() as u64 - 1;
        self.put(dir, name, number);
        Ok(number)
    }

    fn attributes(&mut self, number: u64) -> Vec<u8> {
        let node = self.node(number);
        let size = node.bytes.len() as u64;
        let mut fields = Fields::default();
        fields.u64(number).u64(size).u64(size.div_ceil(512));
        for time in node.times {
            fields.u64(time.0);
        }
        for time in node.times {
            fields.u32(time.1);
        }
        fields.u32(node.mode).u32(node.names + u32::from(node.is_dir())).u32(node.owner.0).u32(node.owner.1);
        fields.u32(0).u32(4096).u32(0);
        fields.0
    }

    /// Returns the entry of a name, with no caching in the kernel.
    fn entry(&mut self, number: u64) -> Vec<u8> {
        let mut fields = Fields::default();
        fields.u64(number).u64(0).u64(0).u64(0).u64(0);
        fields.0.extend(self.attributes(number));
        fields.0
    }

    fn described(&mut self, number: u64) -> Vec<u8> {
        [vec![0; 16], self.attributes(number)].concat()
    }

    fn rename(&mut self, (from_dir, from): (u64, &OsString), (to_dir, to): (u64, OsString), flags: u32) -> Answer {
        const NO_REPLACE: u32 = 1;
        const EXCHANGE: u32 = 2;
        let moved = self.find(from_dir, from).ok_or(Errno::NOENT)?;
        match self.find(to_dir, &to) {
            None if flags == EXCHANGE => return Err(Errno::NOENT),
            Some(other) if flags == EXCHANGE => {
                self.put(from_dir, from.clone(), other);
                self.put(to_dir, to, moved);
                return Ok(Some(Vec::new()));
            }
            Some(_) if flags == NO_REPLACE => return Err(Errno::EXIST),
            Some(there) if there != moved => {
                if !self.node(there).entries.is_empty() {
                    return Err(Errno::NOTEMPTY);
                }
                self.node(there).names -= 1;
            }
            _ => {}
        }
        self.take(from_dir, from)?;
        self.put(to_dir, to, moved);
        Ok(Some(Vec::new()))
    }

    fn set(&mut self, number: u64, body: &[u8]) {
        let (valid, now) = (self::number(body, 0), now());
        let node = self.node(number);
        let given = |bit: u32| valid & bit != 0;
        let time =
            |is_now, at, nanoseconds| if is_now { now } else { (wide(body, at), self::number(body, nanoseconds)) };
        if given(1) {
            node.mode = node.mode & KIND | self::number(body, 68) & 0o7777;
        }
        node.owner.0 = if given(2) { self::number(body, 76) } else { node.owner.0 };
        node.owner.1 = if given(4) { self::number(body, 80) } else { node.owner.1 };
        if given(8) {
            node.bytes.resize(place(wide(body, 16)), 0);
            node.times[1] = now;
        }
        if given(16) {
            node.times[0] = time(given(128), 32, 56);
        }
        if given(32) {
            node.times[1] = time(given(256), 40, 60);
        }
        node.times[2] = now;
    }

    fn listing(&mut self, number: u64, body: &[u8]) -> Vec<u8> {
        let (offset, most) = (wide(body, 8), self::number(body, 16) as usize);
        let entries: Vec<_> = self.node(number).entries.values().cloned().collect();
        let mut fields = Fields::default();
        for (at, (name, node)) in entries.iter().enumerate().skip(place(offset)) {
            if fields.0.len() + 24 + name.len() + 8 > most {
                break;
            }
            let kind = (self.node(*node).mode & KIND) >> 12;
            fields.u64(*node).u64(at as u64 + 1).u32(u32::try_from(name.len()).unwrap_or(0)).u32(kind);
            fields.0.extend(name.as_bytes());
            fields.0.resize(fields.0.len().next_multiple_of(8), 0);
        }
        fields.0
    }

    fn answer(&mut self, operation: u32, at: u64, owner: (u32, u32), body: &[u8]) -> Answer {
        let mut fields = Fields::default();
        let name = |skipped: usize| names(&body[skipped..]).next().unwrap_or_default();
        let opened = || [0; 16].to_vec();
        Ok(Some(match operation {
            // INIT: the features of both sides; only the required ones, and long writes.
            26 => {
                fields.u32(7).u32(31).u32(MOST).u32(1 << 5).u32(0).u32(MOST).u32(1);
                fields.0.resize(64, 0);
                fields.0
            }
            // LOOKUP
            1 => {
                let found = self.find(at, &name(0)).ok_or(Errno::NOENT)?;
                self.entry(found)
            }
            // FORGET, BATCH_FORGET, INTERRUPT
            2 | 42 | 36 => return Ok(None),
            // GETATTR
            3 => self.described(at),
            // SETATTR
            4 => {
                self.set(at, body);
                self.described(at)
            }
            // READLINK
            5 => self.node(at).bytes.clone(),
            // SYMLINK
            6 => {
                let target = names(body).nth(1).unwrap_or_default();
                let made = self.make(at, name(0), LINK | 0o777, owner)?;
                self.node(made).bytes = target.into_vec();
                self.entry(made)
            }
            // MKNOD
            8 => {
                let made = self.make(at, name(16), number(body, 0), owner)?;
                self.entry(made)
            }
            // MKDIR
            9 => {
                let made = self.make(at, name(8), DIR | number(body, 0) & 0o7777, owner)?;
                self.entry(made)
            }
            // UNLINK
            10 => {
                let gone = self.take(at, &name(0))?;
                self.node(gone).names -= 1;
                Vec::new()
            }
            // RMDIR
            11 => {
                let gone = self.find(at, &name(0)).ok_or(Errno::NOENT)?;
                if !self.node(gone).entries.is_empty() {
                    return Err(Errno::NOTEMPTY);
                }
                self.take(at, &name(0))?;
                self.node(gone).names = 0;
                Vec::new()
            }
            // RENAME, RENAME2
            12 | 45 => {
                let (skipped, flags) = if operation == 12 { (8, 0) } else { (16, number(body, 8)) };
                let to = names(&body[skipped..]).nth(1).unwrap_or_default();
                return self.rename((at, &name(skipped)), (wide(body, 0), to), flags);
            }
            // LINK
            13 => {
                let linked = wide(body, 0);
                if self.find(at, &name(8)).is_some() {
                    return Err(Errno::EXIST);
                }
                self.node(linked).names += 1;
                self.put(at, name(8), linked);
                self.entry(linked)
            }
            // OPEN, OPENDIR
            14 | 27 => opened(),
            // READ
            15 => {
                let bytes = &self.node(at).bytes;
                let begin = place(wide(body, 8)).min(bytes.len());
                let end = (begin + number(body, 16) as usize).min(bytes.len());
                bytes[begin..end].to_vec()
            }
            // WRITE
            16 => {
                let (begin, length) = (place(wide(body, 8)), number(body, 16));
                let end = begin + length as usize;
                let node = self.node(at);
                node.bytes.resize(node.bytes.len().max(end), 0);
                node.bytes[begin..end].copy_from_slice(&body[40..40 + length as usize]);
                self.touch(at);
                fields.u32(length).u32(0);
                fields.0
            }
            // STATFS
            17 => {
                for _ in 0..5 {
                    fields.u64(1 << 20);
                }
                fields.u32(4096).u32(255).u32(4096);
                fields.0.resize(80, 0);
                fields.0
            }
            // RELEASE, RELEASEDIR, FLUSH, FSYNC, FSYNCDIR
            18 | 29 | 25 | 20 | 30 => Vec::new(),
            // READDIR
            28 => self.listing(at, body),
            // CREATE
            35 => {
                let made = match self.find(at, &name(16)) {
                    Some(there) => there,
                    None => self.make(at, name(16), FILE | number(body, 4) & 0o7777, owner)?,
                };
                [self.entry(made), opened()].concat()
            }
            // Unknown requests are not supported: extended attributes, copies in the kernel, and locks, which the
            // kernel then keeps itself.
            _ => return Err(Errno::NOSYS),
        }))
    }
}
