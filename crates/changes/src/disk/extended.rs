//! Extended attributes, in which Linux stores ACLs.

use std::ffi::{CStr, CString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use rustix::fs::{XattrFlags, fgetxattr, fgetxattr_query, flistxattr, flistxattr_query, fsetxattr};
use rustix::io::Errno;

#[cfg(target_vendor = "apple")]
const GONE: Errno = Errno::NOATTR;
#[cfg(not(target_vendor = "apple"))]
const GONE: Errno = Errno::NODATA;

/// Copies the extended attributes of a file or directory to another one, as far as permitted.
///
/// Attributes that only root may set, or that the file system does not support, are skipped.
#[expect(clippy::disallowed_methods, reason = "this is part of the one place that changes files")]
pub(crate) fn copy_extended(from: impl AsFd, to: impl AsFd) -> io::Result<()> {
    for name in names(&from)? {
        let value =
            match filled(fgetxattr_query(&from, &*name), |space| Ok(fgetxattr(&from, &*name, space)?.0.to_vec())) {
                Err(GONE) => continue,
                value => value?,
            };
        match fsetxattr(&to, &*name, &value, XattrFlags::empty()) {
            Err(Errno::NOTSUP | Errno::PERM | Errno::ACCESS) => {}
            set => set?,
        }
    }
    Ok(())
}

fn names(file: impl AsFd) -> io::Result<Vec<CString>> {
    let list = match filled(flistxattr_query(&file), |space| Ok(flistxattr(&file, space)?.0.to_vec())) {
        Err(Errno::NOTSUP) => return Ok(Vec::new()),
        list => list?,
    };
    let names = list.split_inclusive(|byte| *byte == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok());
    Ok(names.map(CStr::to_owned).collect())
}

/// Allocates the reported size and fills it.
fn filled<T>(
    size: rustix::io::Result<usize>,
    fill: impl FnOnce(&mut [MaybeUninit<u8>]) -> rustix::io::Result<T>,
) -> rustix::io::Result<T> {
    fill(&mut vec![MaybeUninit::uninit(); size?])
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    #[expect(clippy::disallowed_macros, reason = "the output of the tests shows that this one did nothing")]
    fn copy_keeps_extended_attributes() {
        let dir = tempfile::tempdir().expect("a directory");
        let make = |name| File::create_new(dir.path().join(name)).expect("a file");
        let (from, to) = (make("from"), make("to"));
        let attributes =
            [("user.empty", Vec::new()), ("user.tag", b"red\0blue".to_vec()), ("user.long", vec![7; 2000])];
        for (name, value) in &attributes {
            if let Err(error) = fsetxattr(&from, *name, value, XattrFlags::empty()) {
                println!("skipped: no extended attributes here: {error}");
                return;
            }
        }
        copy_extended(&from, &to).expect("a copy");
        assert_eq!(names(&to).expect("names").len(), names(&from).expect("names").len());
        for (name, value) in attributes {
            let mut copied = vec![0; value.len() + 1];
            let length = fgetxattr(&to, name, &mut copied[..]).expect("an attribute");
            assert_eq!(copied[..length], value, "{name}");
        }
        // A second copy, over the existing attributes.
        copy_extended(&from, &to).expect("a copy");
    }
}
