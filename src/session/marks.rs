//! Marks for unusual properties of a session: a letter each in a table, and a word where there is room.

use crate::session::{AgentKind, Health, Kin, Liveness, Session, SessionKind};

/// An unusual property that a table shows; marks are shown in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A process uses the session.
    Live,
    /// A process may use the session.
    MaybeLive,
    /// The user pinned it.
    Pinned,
    /// The user tagged it.
    Tagged,
    /// The agent will soon delete the session.
    Expiring,
    /// The last replies are errors that a retry does not fix.
    Stuck,
    /// `rewind` made the session from another one.
    Rewound,
    /// The kind of session, if it is not a normal one.
    Kind(SessionKind),
    /// A pointer of this agent names the session.
    Pointer(AgentKind),
    /// The session belongs to another directory with the same work as the requested one.
    Kin(Kin),
    /// The session has a problem.
    Health(Health),
}

impl Mark {
    /// Every mark, in the order of the legend.
    pub(crate) const ALL: &'static [Self] = &[
        Self::Live,
        Self::MaybeLive,
        Self::Pinned,
        Self::Tagged,
        Self::Expiring,
        Self::Stuck,
        Self::Rewound,
        Self::Kind(SessionKind::Fork),
        Self::Kind(SessionKind::Exec),
        Self::Kind(SessionKind::Saved),
        Self::Kind(SessionKind::Subagent),
        Self::Health(Health::EmptySession),
        Self::Pointer(AgentKind::pointers()[0]),
        Self::Kin(Kin::Earlier),
        Self::Kin(Kin::Worktree),
        Self::Health(Health::MissingDirectory),
        Self::Health(Health::UnknownDirectory),
        Self::Health(Health::DuplicateSession),
        Self::Health(Health::MisfiledSession),
        Self::Health(Health::UnknownFormat),
        Self::Health(Health::TornTranscript),
        Self::Health(Health::BadLines),
        Self::Health(Health::SessionInfoMissing),
        Self::Health(Health::SessionInfoInvalid),
        Self::Health(Health::SessionInfoMismatch),
        Self::Health(Health::FutureTime),
        Self::Health(Health::CannotOpen),
        Self::Health(Health::Unlisted),
        Self::Health(Health::ArchiveMismatch),
        Self::Health(Health::Planted),
        Self::Health(Health::UnsupportedVersion),
        Self::Health(Health::MissingFields),
        Self::Health(Health::InvalidContent),
        Self::Health(Health::Oversize),
        Self::Health(Health::Unsigned),
        Self::Health(Health::SignatureInvalid),
        Self::Kind(SessionKind::Archived),
    ];

    /// Returns the marks of a session, in the order of the legend.
    pub(crate) fn from_session(session: &Session) -> Vec<Self> {
        let copy = session.copy();
        let is_marked = |mark: &Self| match mark {
            Self::Live => matches!(copy.liveness, Liveness::Live { .. }),
            Self::MaybeLive => matches!(copy.liveness, Liveness::Maybe { .. }),
            Self::Pinned => session.is_pinned,
            Self::Tagged => !session.tags.is_empty(),
            Self::Kind(SessionKind::Archived) => copy.is_closed(),
            Self::Expiring => session.expires_at.is_some(),
            Self::Stuck => session.is_stuck,
            // `resume --with` starts another agent.
            Self::Rewound => session.continues.as_ref().is_some_and(|origin| origin.agent == session.agent),
            Self::Kind(kind) => copy.kind == *kind,
            Self::Pointer(agent) => session.pointers.iter().any(|pointer| pointer.agent == *agent),
            Self::Kin(kin) => session.kin == Some(*kin),
            Self::Health(Health::EmptySession) => copy.is_empty() || session.health.contains(Health::EmptySession),
            Self::Health(health) => session.health.contains(*health),
        };
        Self::ALL.iter().copied().filter(is_marked).collect()
    }

    /// Returns the letter of a narrow column.
    pub(crate) const fn letter(self) -> char {
        match self {
            Self::Live => 'L',
            Self::MaybeLive => 'l',
            Self::Pinned => 'P',
            Self::Tagged => '+',
            Self::Expiring => 'd',
            Self::Stuck => 'K',
            Self::Rewound => 'r',
            Self::Kind(SessionKind::Main) => ' ',
            Self::Kind(SessionKind::Fork) => 'F',
            Self::Kind(SessionKind::Exec) => 'X',
            Self::Kind(SessionKind::Saved) => 's',
            Self::Kind(SessionKind::Subagent) => 'S',
            Self::Kind(SessionKind::Archived) => 'c',
            Self::Kind(SessionKind::Empty) => Health::EmptySession.letter(),
            Self::Pointer(_) => '@',
            Self::Kin(Kin::Earlier) => 'o',
            Self::Kin(Kin::Worktree) => 'W',
            Self::Health(health) => health.letter(),
        }
    }

    /// Returns the word of a wide column and of a short legend.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::MaybeLive => "maybe live",
            Self::Pinned => "pinned",
            Self::Tagged => "tagged",
            // `archived` means rejoin's archive.
            Self::Kind(SessionKind::Archived) => "closed",
            Self::Expiring => "expiring",
            Self::Stuck => "stuck",
            Self::Rewound => "rewound",
            Self::Kind(kind) => kind.name(),
            Self::Pointer(agent) => agent.name(),
            Self::Kin(Kin::Earlier) => "earlier place",
            Self::Kin(Kin::Worktree) => "worktree",
            Self::Health(Health::DuplicateSession) => "several copies",
            Self::Health(health) => health.mark(),
        }
    }

    /// Returns the description, a sentence without a period.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Live => "a process uses it now",
            Self::MaybeLive => "it may be in use: it was written to a moment ago, or a lock says so",
            Self::Pinned => "you pinned it, so no cleanup and no delete removes it",
            Self::Tagged => "you tagged it; a wide column has the tags instead, as in `+relay`",
            Self::Expiring => "its agent deletes it within seven days; `rejoin archive --expiring 7d` keeps it",
            Self::Stuck => "its last replies are API errors that a retry does not fix; see `rejoin rewind`",
            Self::Rewound => "`rejoin rewind` made it from another session",
            Self::Kind(SessionKind::Main) => "an ordinary session",
            Self::Kind(SessionKind::Fork) => "it began as a copy of another session",
            Self::Kind(SessionKind::Exec) => "a script ran it, without a person at a terminal",
            Self::Kind(SessionKind::Saved) => "a person saved what was said so far in another session",
            Self::Kind(SessionKind::Subagent) => "another session made it for a part of its work",
            Self::Kind(SessionKind::Archived) => "its agent has closed it, or archived it in its own list",
            Self::Kind(SessionKind::Empty) => Health::EmptySession.meaning(),
            Self::Pointer(_) => "a file of an app that Leo built names it",
            Self::Kin(Kin::Earlier) => "it was started where the directory was before `rejoin move`",
            Self::Kin(Kin::Worktree) => "it is of another git worktree of the directory",
            Self::Health(health) => health.meaning(),
        }
    }
}

/// Returns the letters of a session's marks.
pub(crate) fn letters(session: &Session) -> String {
    Mark::from_session(session).into_iter().map(Mark::letter).collect()
}

/// Returns the name of a mark in the filter `is:`, from its word: `dir-gone`, `several-copies`.
pub(crate) fn name(word: &str) -> String {
    let is_number = |number: &str| number.bytes().all(|byte| byte.is_ascii_digit());
    match word.strip_suffix(" copies").filter(|number| is_number(number)) {
        Some(_) => "several-copies".to_owned(),
        None if word.starts_with('+') => Mark::Tagged.word().to_owned(),
        None => word.replace(' ', "-"),
    }
}

/// Returns the tags in the word of a mark: `relay` and `urgent` of `+relay +urgent`.
pub(crate) fn tags(word: &str) -> impl Iterator<Item = &str> {
    word.split(' ').filter_map(|tag| tag.strip_prefix('+'))
}

/// Returns the words of a session's marks; several copies are counted, and the tags are named.
pub(crate) fn words(session: &Session) -> Vec<String> {
    let word = |mark| match mark {
        Mark::Health(Health::DuplicateSession) => format!("{} copies", session.copies.len()),
        Mark::Tagged => tag_words(session),
        mark => mark.word().to_owned(),
    };
    Mark::from_session(session).into_iter().map(word).collect()
}

/// Returns the tags of a session as they are typed: `+relay +urgent`.
pub(crate) fn tag_words(session: &Session) -> String {
    session.tags.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::session::tests::{copy, session};
    use strum::VariantArray as _;

    #[test]
    fn every_mark_has_a_unique_letter_and_word() {
        let letters: BTreeSet<char> = Mark::ALL.iter().map(|mark| mark.letter()).collect();
        let words: BTreeSet<&str> = Mark::ALL.iter().map(|mark| mark.word()).collect();
        assert_eq!((letters.len(), words.len()), (Mark::ALL.len(), Mark::ALL.len()));
        assert!(letters.iter().all(char::is_ascii_graphic));
    }

    #[test]
    fn every_program_with_pointers_has_a_mark() {
        for agent in AgentKind::pointers() {
            assert!(Mark::ALL.contains(&Mark::Pointer(*agent)), "{agent}");
        }
    }

    #[test]
    fn every_health_problem_has_a_mark() {
        let marked: BTreeSet<&str> = Mark::ALL
            .iter()
            .filter_map(|mark| if let Mark::Health(health) = mark { Some(health.code()) } else { None })
            .collect();
        assert_eq!(marked, Health::VARIANTS.iter().map(|health| health.code()).collect());
    }

    #[test]
    fn empty_session_has_one_mark() {
        let mut both = session(vec![copy("a"), copy("a")]);
        both.copies[0].kind = SessionKind::Empty;
        both.copies[0].health.insert(Health::EmptySession);
        both.is_pinned = true;
        both.health = [Health::EmptySession, Health::DuplicateSession].into_iter().collect();
        assert_eq!(letters(&both), "PEC");
        assert_eq!(words(&both), ["pinned", "empty", "2 copies"]);
    }
}
