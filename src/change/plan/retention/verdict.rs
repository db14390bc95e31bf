//! The decision about a family and its reasons, each with its name for scripts and its text.

use crate::format::text;

/// Reason for keeping a family, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Keep {
    /// It belongs to another agent or directory.
    NotAskedFor,
    /// A process uses it.
    Live,
    /// A process may be using it.
    MaybeLive,
    /// A part of it could not be read or parsed.
    Unparsable,
    /// Its records are in an unknown format.
    UnknownFormat,
    /// It has a time in the future, so some clock was wrong.
    Future,
    /// The user pinned it.
    Pinned,
    /// The user excluded it.
    Excluded,
    /// Its last activity is unknown, so it has no age.
    Undated,
    /// It has a record, or a file without times that was changed, within the last hour.
    Recent,
    /// It has a prompt or a reply.
    NotEmpty,
    /// It is among the newest of its project.
    #[strum(serialize = "keep-last")]
    AmongNewest,
    /// A rule of the config file keeps it.
    #[strum(serialize = "keep-rule")]
    Rule,
    /// It is not old enough, or fits into the size limit.
    Newer,
    /// Its records are old enough, but a file without times, or with a last record without one, changed later.
    NewerFile,
    /// A session that was forked from it is kept.
    Parent,
    /// Only its agent can remove it.
    ItsAgents,
    /// The files of its agent were never measured.
    OnlyRead,
}

impl Keep {
    /// Returns the stable name, for scripts.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the number of sessions that stay for this reason, for display; `filters` are the options that chose others.
    pub(crate) fn words(self, count: usize, filters: &[&str]) -> String {
        let what = match self {
            Self::Live => "in use",
            Self::MaybeLive => "maybe in use",
            Self::Unparsable => "unreadable",
            Self::UnknownFormat => "in an unknown format",
            Self::Future => "with a time in the future",
            Self::Pinned => "pinned",
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
    /// It was last active before the cutoff.
    Old,
    /// The total size exceeds the limit, and it is among the oldest.
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
