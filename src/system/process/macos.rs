//! Information about processes on macOS, from libproc, for those of the same user.

use std::collections::HashSet;
use std::ffi::OsStr;

use libproc::bsd_info::BSDInfo;
use libproc::file_info::{ListFDs, PIDFDInfo, PIDFDInfoFlavor, ProcFDType, pidfdinfo};
use libproc::proc_pid::{listpidinfo, pidinfo, pidpath};
use libproc::processes::{ProcFilter, pids_by_type};

use crate::system::process::{OpenFile, ProcessTable, RunningProcess, StartTime};

/// `FWRITE` of `<sys/fcntl.h>`.
const WRITES: u32 = 2;

/// The processes of this machine.
#[derive(Debug)]
pub(super) struct Libproc;

/// The processes of this machine.
pub(super) fn native() -> Libproc {
    Libproc
}

/// The used fields of `struct vnode_fdinfo` of `<sys/proc_info.h>`.
#[derive(Debug, Default)]
#[repr(C)]
struct VnodeInfo {
    open_flags: u32,
    status: u32,
    offset: i64,
    kind: i32,
    guard_flags: u32,
    device: u32,
    mode: u16,
    links: u16,
    inode: u64,
    rest: [u64; 17],
}

// The system refuses a smaller buffer and leaves a larger one half filled.
const _: () = assert!(size_of::<VnodeInfo>() == 176);

impl PIDFDInfo for VnodeInfo {
    fn flavor() -> PIDFDInfoFlavor {
        PIDFDInfoFlavor::VNodeInfo
    }
}

fn bsd_info(pid: u32) -> Option<BSDInfo> {
    pidinfo(i32::try_from(pid).ok()?, 0).ok()
}

fn vnode(pid: i32, fd: i32) -> Option<VnodeInfo> {
    pidfdinfo(pid, fd).ok()
}

impl ProcessTable for Libproc {
    fn start_time(&self, pid: u32) -> Option<StartTime> {
        i64::try_from(bsd_info(pid)?.pbi_start_tvsec).ok().map(StartTime::Seconds)
    }

    fn open_files(&self, _names: Option<&HashSet<&OsStr>>) -> Option<Vec<OpenFile>> {
        let pids = pids_by_type(ProcFilter::All).ok()?;
        let files = pids.into_iter().filter_map(|pid| Some((pid, i32::try_from(pid).ok()?))).flat_map(|(pid, id)| {
            // Files may be opened between the two calls.
            let count = bsd_info(pid).map_or(0, |info| info.pbi_nfiles as usize + 16);
            let open = if count > 0 { listpidinfo::<ListFDs>(id, count).unwrap_or_default() } else { Vec::new() };
            open.into_iter().filter(|open| matches!(open.proc_fdtype.into(), ProcFDType::VNode)).filter_map(
                move |open| {
                    let info = vnode(id, open.proc_fd)?;
                    // The same value as from `stat`, which has it as a signed number.
                    let device = i64::from(info.device.cast_signed()).cast_unsigned();
                    Some(OpenFile { pid, fd: u32::try_from(open.proc_fd).ok()?, identity: (device, info.inode) })
                },
            )
        });
        Some(files.collect())
    }

    fn running(&self, is_wanted: &dyn Fn(&[String]) -> bool) -> Vec<RunningProcess> {
        let path = |pid: u32| pidpath(i32::try_from(pid).ok()?).ok();
        let running = pids_by_type(ProcFilter::All).unwrap_or_default().into_iter().filter_map(|pid| {
            let words = Some(vec![path(pid)?]).filter(|words| is_wanted(words))?;
            Some(RunningProcess { pid, words, own: Some(Default::default()) })
        });
        running.collect()
    }

    fn is_written(&self, open: &OpenFile) -> bool {
        let ids = i32::try_from(open.pid).ok().zip(i32::try_from(open.fd).ok());
        ids.and_then(|(pid, fd)| vnode(pid, fd)).is_some_and(|info| info.open_flags & WRITES != 0)
    }
}
