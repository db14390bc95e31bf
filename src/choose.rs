//! Which of several copies of one session is the one to use: by evidence, never by the order of directories.

use std::cmp::Reverse;

use jiff::Timestamp;

use crate::session::{Choice, Copy, SessionKind};

/// What speaks for a copy, the weightiest first.
type Rank = (bool, bool, Option<Timestamp>, u64);

fn rank(copy: &Copy) -> Rank {
    let at = copy.active_at.as_ref().map(|fact| fact.value);
    (copy.kind != SessionKind::Empty, copy.is_filed_right, at, copy.transcript_bytes)
}

/// Puts the copy to use first and says why it is the one.
pub fn choose(copies: &mut [Copy]) -> Choice {
    // Paths only make the order of equals the same every time; they decide nothing.
    copies.sort_by(|a, b| Reverse(rank(a)).cmp(&Reverse(rank(b))).then_with(|| a.place.path.cmp(&b.place.path)));
    let [first, rest @ ..] = &*copies else {
        return Choice { why: "it is stored nowhere".to_owned(), is_decided: true };
    };
    let Some(second) = rest.first() else {
        let why = if first.is_filed_right { "filed under its launch directory" } else { "the only copy" };
        return Choice { why: why.to_owned(), is_decided: true };
    };
    let (ours, theirs) = (rank(first), rank(second));
    let why = if ours.0 != theirs.0 {
        "the only copy with a conversation"
    } else if ours.1 != theirs.1 {
        "the only copy that is filed under its launch directory"
    } else if ours.2 != theirs.2 {
        "its last record is the newest"
    } else if ours.3 != theirs.3 {
        "it has the longest transcript"
    } else {
        "nothing tells it from the next copy"
    };
    Choice { why: why.to_owned(), is_decided: ours != theirs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Fact;
    use crate::session::tests::copy;

    fn at(text: &str) -> Option<Fact<Timestamp>> {
        Some(Fact::new(text.parse().expect("a time"), "transcript"))
    }

    #[test]
    fn the_copy_that_is_filed_right_beats_a_newer_stray_one() {
        let (mut right, mut stray) = (copy("a"), copy("a"));
        right.is_filed_right = true;
        right.active_at = at("2026-01-01T00:00:00Z");
        stray.active_at = at("2026-02-01T00:00:00Z");
        stray.place.path = "/elsewhere".into();
        for mut copies in [vec![right.clone(), stray.clone()], vec![stray, right]] {
            let choice = choose(&mut copies);
            assert!(copies[0].is_filed_right && choice.is_decided);
            assert_eq!(choice.why, "the only copy that is filed under its launch directory");
        }
    }

    #[test]
    fn equal_evidence_is_not_decided_by_the_order_of_directories() {
        let (mut one, mut two) = (copy("a"), copy("a"));
        one.place.path = "/1".into();
        two.place.path = "/2".into();
        for mut copies in [vec![one.clone(), two.clone()], vec![two, one]] {
            assert!(!choose(&mut copies).is_decided);
            assert_eq!(copies[0].place.path.to_str(), Some("/1"));
        }
    }
}
