//! The decision about a family and its reasons, each with its name for scripts and its text.

use crate::format::text;

/// Reason for keeping a family, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Keep {
    /// The session belongs to another agent or directory.
    NotAskedFor,
    /// A process uses the session.
    Live,
    /// A process may be using the session.
    MaybeLive,
    /// A part of the session could not be read or parsed.
    Unparsable,
    /// The records are in an unknown format.
    UnknownFormat,
    /// The session has a time in the future, so a clock was wrong.
    Future,
    /// The user pinned the session.
    Pinned,
    /// The user keeps the session in its agent, such as by a pin there.
    KeptByAgent,
    /// The user excluded the session.
    Excluded,
    /// The last activity is unknown, so the session has no age.
    Undated,
    /// A record is of the last hour, or a file without times was changed in it.
    Recent,
    /// The session has a prompt or a reply.
    NotEmpty,
    /// The session is among the newest ones of its project.
    #[strum(serialize = "keep-last")]
    AmongNewest,
    /// A rule of the config file keeps the session.
    #[strum(serialize = "keep-rule")]
    Rule,
    /// The session is newer than the cutoff, or fits into the size limit.
    Newer,
    /// The records are old enough, but a file without times, or whose last record has none, changed later.
    NewerFile,
    /// A fork of the session is kept.
    Parent,
    /// Only the agent can remove the session.
    ItsAgents,
    /// The files of the agent were never measured.
    OnlyRead,
}

impl Keep {
    /// Returns the stable name, for scripts.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Returns a clause with the number of sessions that are kept for this reason; `filters` are the options that
    /// select other sessions.
    pub(crate) fn words(self, count: usize, filters: &[&str]) -> String {
        let what = match self {
            Self::Live => "in use",
            Self::MaybeLive => "maybe in use",
            Self::Unparsable => "unreadable",
            Self::UnknownFormat => "in an unknown format",
            Self::Future => "with a time in the future",
            Self::Pinned => "pinned",
            Self::KeptByAgent => "kept in their agent",
            Self::Excluded => "excluded",
            Self::Undated => "without a time of activity",
            Self::Recent => "changed within the last hour",
            Self::NotAskedFor => return format!("{count} not matched by {}", text::list(filters)),
            Self::NotEmpty => "not empty",
            Self::AmongNewest => "newest of their project",
            Self::Rule => "kept by a rule",
            Self::Newer => "newer",
            Self::NewerFile => "with old records, but a newer file without times",
            Self::Parent => "parents of kept sessions",
            Self::ItsAgents => "in their agent's database",
            Self::OnlyRead => "of agents whose files were never measured",
        };
        match self {
            Self::AmongNewest if count == 1 => "1 newest of its project".to_owned(),
            Self::OnlyRead if count == 1 => "1 of an agent whose files were never measured".to_owned(),
            Self::ItsAgents if count == 1 => "1 in its agent's database".to_owned(),
            Self::Parent if count == 1 => "1 parent of a kept session".to_owned(),
            _ => format!("{count} {what}"),
        }
    }
}

/// Reason for removing a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Go {
    /// The session was last active before the cutoff.
    Old,
    /// The total size exceeds the limit, and the session is among the oldest ones.
    OverTotal,
    /// The policy removes sessions of any age.
    All,
}

impl Go {
    /// Returns the stable name, for scripts.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

/// The decision about a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FamilyVerdict {
    /// Remove the family.
    Goes(Go),
    /// Keep the family.
    Stays(Keep),
}

impl FamilyVerdict {
    /// Returns whether the family is kept only because it is newer than the cutoff.
    pub(crate) fn is_for_age(self) -> bool {
        matches!(self, Self::Stays(Keep::Newer | Keep::NewerFile))
    }
}
