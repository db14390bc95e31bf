//! What is packed comes back as it was.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use jiff::Timestamp;
use proptest::prelude::*;
use strum::VariantArray as _;

use super::*;
use crate::session::tests::{copy, session};
use crate::session::{AgentKind, Comparison, Copy, Evidence, Fact, Health, Kin, Liveness, SessionKind};

/// A copy in which everything is filled in that can be, with texts that differ.
fn full(id: &str, text: &str, number: u64, at: Timestamp) -> Copy {
    let mut copy = copy(id);
    let fact = |source| Some(Fact::new(text.to_owned(), source));
    let dir = |name: &str| Some(Fact::new(PathBuf::from(format!("/w/{text}/{name}")), "transcript"));
    copy.place.side_dir = Some(format!("/s/projects/-p/{id}").into());
    copy.place.parent_id = Some(text.to_owned());
    copy.place.is_subagent = number.is_multiple_of(2);
    copy.kind =
        [SessionKind::Fork, SessionKind::Saved, SessionKind::Archived][usize::try_from(number % 3).unwrap_or(0)];
    (copy.title, copy.first_prompt) = (fact("custom-title"), fact("transcript"));
    (copy.launch_dir, copy.start_dir, copy.last_dir) = (dir("a"), dir("b"), dir("a"));
    copy.created_at = Some(Fact::new(at, "metadata"));
    copy.active_at = Some(Fact::new(Timestamp::MIN, "mtime"));
    copy.not_after = Some(at);
    (copy.size_bytes, copy.transcript_bytes, copy.is_size_known) = (number, number / 2, false);
    copy.modified_at = Some(Timestamp::MAX);
    copy.temporary = vec![OsString::from_vec(vec![b'/', 0xff, b't']).into()];
    (copy.prompts, copy.replies) = (Some(number), Some(0));
    (copy.model, copy.git_branch) = (fact("events"), fact("events"));
    copy.parent_id = Some(format!("parent of {id}"));
    copy.liveness = match number % 3 {
        0 => Liveness::Live { pid: u32::MAX },
        1 => Liveness::Maybe { why: text.to_owned() },
        _ => Liveness::Idle,
    };
    copy.is_filed_right = true;
    copy.health = Health::VARIANTS.iter().copied().skip(usize::try_from(number % 18).unwrap_or(0)).collect();
    copy.evidence = vec![Evidence {
        dir: text.into(),
        source: "pointer",
        detail: text.to_owned().into(),
        counts: number.is_multiple_of(2),
    }];
    copy.notes = vec![text.to_owned(), String::new()];
    copy
}

fn unpacked(sessions: &[Session]) -> Vec<Session> {
    let mut packer = Packer::default();
    sessions.iter().cloned().for_each(|session| packer.push(session));
    let packed = packer.finish();
    assert!(sessions.iter().enumerate().all(|(at, session)| packed.id(at) == session.id));
    packed.sessions().collect()
}

#[test]
fn a_name_that_is_not_the_id_and_one_that_is_not_utf_8_come_back() {
    let mut odd = copy("a");
    for path in [&b"/x/b.db"[..], b"/x/a", b"relative", b"/", b"/x/\xff", b"a.jsonl"] {
        odd.place.path = Path::new(OsStr::from_bytes(path)).into();
        let session = session(vec![odd.clone()]);
        assert_eq!(unpacked(std::slice::from_ref(&session))[0].copy().place.path, session.copy().place.path);
    }
}

proptest! {
    #[test]
    fn what_is_packed_comes_back_as_it_was(
        parts in prop::collection::vec((".{0,40}", any::<u64>(), -10_000_000_000_i64..10_000_000_000, 0_i32..1_000_000_000, any::<bool>()), 1..6),
    ) {
        let sessions: Vec<Session> = parts
            .iter()
            .enumerate()
            .map(|(at, (text, number, second, nanosecond, is_bare))| {
                let id = format!("{at}-{text}");
                let time = Timestamp::new(*second, *nanosecond).unwrap_or_default();
                if *is_bare {
                    return session(vec![copy(&id)]);
                }
                let mut session = session(vec![full(&id, text, *number, time), copy(&id)]);
                session.choice.is_decided = false;
                session.choice.comparisons =
                    vec![None, Some(Comparison::Diverged { record: *number }), Some(Comparison::Identical)];
                session.launch_dir_exists = [None, Some(true), Some(false)][at % 3];
                session.is_pinned = true;
                session.kin = [None, Some(Kin::Earlier), Some(Kin::Worktree)][at % 3];
                session.health = session.copy().health.clone();
                session.pointers.push(Pointer {
                    agent: AgentKind::Leo,
                    path: text.into(),
                    dir: "/d".into(),
                    cwd: None,
                    session_id: Some(id),
                    name: None,
                    written_at: Some(time),
                });
                session
            })
            .collect();
        prop_assert_eq!(format!("{:?}", unpacked(&sessions)), format!("{sessions:?}"));
    }
}
