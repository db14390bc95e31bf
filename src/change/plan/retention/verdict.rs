//! What becomes of a session, and the reasons, each with its name for scripts and its words.

/// Why a family stays, the strongest reason first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Keep {
    /// It is of another agent or directory.
    NotAskedFor,
    /// A process uses it.
    Live,
    /// A process may be using it.
    MaybeLive,
    /// Something of it could not be read or understood.
    Unparsable,
    /// Its records are in an unknown format.
    UnknownFormat,
    /// It holds a time that is still to come, so some clock was wrong.
    Future,
    /// A person pinned it.
    Pinned,
    /// A person excluded it.
    Excluded,
    /// Nothing says when it was last active, so it has no age.
    Undated,
    /// One of its files was changed within the last hour.
    Recent,
    /// It has a prompt or a reply.
    NotEmpty,
    /// It is among the newest of its project.
    #[strum(serialize = "keep-last")]
    AmongNewest,
    /// A rule of the config file keeps it.
    #[strum(serialize = "keep-rule")]
    Rule,
    /// It is not old enough, or there is room for it.
    Newer,
    /// A session that came from it stays.
    Parent,
    /// Only its agent can remove it.
    ItsAgents,
}

impl Keep {
    /// Returns the stable name, for scripts.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Returns what people read.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Live => "in use",
            Self::MaybeLive => "maybe in use",
            Self::Unparsable => "unreadable",
            Self::UnknownFormat => "in an unknown format",
            Self::Future => "with a time in the future",
            Self::Pinned => "pinned",
            Self::Excluded => "excluded",
            Self::Undated => "without a time of activity",
            Self::Recent => "changed within the last hour",
            Self::NotAskedFor => "not selected",
            Self::NotEmpty => "not empty",
            Self::AmongNewest => "among the last of their project",
            Self::Rule => "kept by a rule",
            Self::Newer => "newer",
            Self::Parent => "parents of kept sessions",
            Self::ItsAgents => "in their agent's database",
        }
    }
}

/// Why a family goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Go {
    /// It was last active before the cutoff.
    Old,
    /// All together are larger than they may be, and it is among the oldest.
    OverTotal,
    /// Every one goes.
    All,
}

impl Go {
    /// Returns the stable name, for scripts.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }
}

/// What becomes of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes.
    Goes(Go),
    /// It stays.
    Stays(Keep),
}
