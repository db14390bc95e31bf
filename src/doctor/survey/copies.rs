//! Finds the data that deleting an extra copy of a session would lose.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::agent::upkeep::StrayLog;
use crate::agent::{self, Agent, Unable};
use crate::scan::Scan;
use crate::session::{Session, SessionCopy};
use crate::system::fsio::{self, Buffer, PIECE};
use crate::system::parallel;

/// Facts about an extra copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopyFacts {
    /// Every path that belongs to the copy, or the reason why only its agent can remove it.
    pub belongings: Result<Vec<PathBuf>, Unable>,
    /// The first file of the copy, other than the transcript, that the chosen copy does not contain.
    pub only_here: Option<PathBuf>,
    /// The fold of the copy's log into the chosen copy, if the copy has no other data.
    pub fold: Option<StrayLog>,
}

/// Collects facts about every copy except the chosen one.
pub(super) fn collect_copy_facts(scan: &Scan) -> BTreeMap<usize, Vec<CopyFacts>> {
    let several = |(at, session): (usize, &Session)| {
        let agent = agent::by_kind(session.agent).filter(|_| session.copies.len() > 1)?;
        let chosen = session.copy();
        Some((at, session.copies[1..].iter().map(|copy| facts(agent, copy, chosen)).collect()))
    };
    parallel::map(scan.sessions.iter().enumerate(), several).into_iter().flatten().collect()
}

fn facts(agent: &dyn Agent, copy: &SessionCopy, chosen: &SessionCopy) -> CopyFacts {
    let belongings = agent.belongings(&copy.place).map(|belongings| belongings.own);
    let only_here = belongings.as_ref().ok().and_then(|paths| only_here(agent, paths, copy, chosen));
    // An unreadable log cannot be folded.
    let fold = (agent.about().fold)(&copy.place.path, &chosen.place.path).ok().flatten();
    CopyFacts { belongings, only_here, fold }
}

/// Finds the first file of a copy that is not the beginning of the same file in the chosen copy.
pub(crate) fn file_only_in(copy: &SessionCopy, chosen: &SessionCopy) -> Option<PathBuf> {
    let agent = agent::by_kind(copy.place.agent())?;
    let belongings = agent.belongings(&copy.place).ok()?;
    only_here(agent, &belongings.own, copy, chosen)
}

fn only_here(agent: &dyn Agent, paths: &[PathBuf], copy: &SessionCopy, chosen: &SessionCopy) -> Option<PathBuf> {
    let transcript = agent.transcript(&copy.place);
    let (from, to) = (copy.place.path.parent()?, chosen.place.path.parent()?);
    for entry in paths.iter().flat_map(|path| walkdir::WalkDir::new(path).sort_by_file_name()) {
        let Ok(entry) = entry else { return paths.first().cloned() };
        let path = entry.path();
        if entry.file_type().is_dir() || transcript.as_deref() == Some(path) {
            continue;
        }
        let is_state = entry.file_name().to_str().is_some_and(|name| (agent.about().is_state)(name));
        let is_covered = path.strip_prefix(from).is_ok_and(|rest| is_beginning_of(path, &to.join(rest)));
        if !is_state && !is_covered {
            return Some(path.to_owned());
        }
    }
    None
}

/// Returns whether a file is the beginning of another, or equal to it.
fn is_beginning_of(a: &Path, b: &Path) -> bool {
    let (Ok((mut ours, our)), Ok((mut theirs, their))) = (fsio::open_regular(a), fsio::open_regular(b)) else {
        return false;
    };
    if our.len() > their.len() {
        return false;
    }
    let (mut one, mut two) = (Buffer::new(PIECE), Buffer::new(PIECE));
    let mut left = our.len();
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(usize::MAX).min(one.len());
        let read = ours.read_exact(&mut one[..part]).and_then(|()| theirs.read_exact(&mut two[..part]));
        if read.is_err() || one[..part] != two[..part] {
            return false;
        }
        left -= part as u64;
    }
    true
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write the files that they read")]
mod tests {
    use super::*;

    #[test]
    fn prefix_check_accepts_equal_and_longer_files() {
        let dir = tempfile::tempdir().expect("a directory");
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        let long = "x".repeat(100_000);
        for (ours, theirs, expected) in [
            ("", "", true),
            ("", "1", true),
            ("12", "123", true),
            ("12", "12", true),
            ("123", "12", false),
            ("13", "12", false),
            (&long, &long, true),
            (&format!("{long}y"), &format!("{long}z"), false),
        ] {
            std::fs::write(&a, ours).expect("a file");
            std::fs::write(&b, theirs).expect("a file");
            assert_eq!(is_beginning_of(&a, &b), expected, "{} {}", ours.len(), theirs.len());
        }
        assert!(!is_beginning_of(&a, &dir.path().join("none")));
        std::os::unix::fs::symlink(&a, dir.path().join("link")).expect("a link");
        assert!(is_beginning_of(&a, &dir.path().join("link")), "a link is read as what it leads to");
    }
}
