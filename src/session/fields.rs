//! The fields of a session in a listing.

use clap::ValueEnum;

/// One fact about a session; scripts and tables choose among these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Field {
    /// The machine; empty for this one.
    Host,
    /// The agent that it belongs to.
    Agent,
    /// Its id.
    Id,
    /// Its title, or else its first prompt.
    Title,
    /// The directory in which `resume` starts the agent.
    #[strum(serialize = "launch_dir")]
    #[value(name = "launch_dir", alias = "dir")]
    Dir,
    /// When it was last active.
    #[strum(serialize = "active_at")]
    #[value(name = "active_at", alias = "active")]
    Active,
    /// Everything that belongs to it, in bytes.
    #[strum(serialize = "size_bytes")]
    #[value(name = "size_bytes", alias = "size")]
    Size,
    /// Number of prompts.
    Prompts,
    /// Number of replies.
    Replies,
    /// Tokens that models read and wrote, if its agent records them.
    Tokens,
    /// Its cost in US dollars, if its agent records it.
    #[strum(serialize = "cost_usd")]
    #[value(name = "cost_usd", alias = "cost")]
    Cost,
    /// The marks, such as *live* or *pinned*.
    Marks,
    /// The tags, as `+WORD`.
    Tags,
    /// Its problems, as codes of `doctor`.
    #[strum(serialize = "health")]
    #[value(name = "health", alias = "problems")]
    Problems,
    /// The kind of session.
    Kind,
    /// When it was started.
    #[strum(serialize = "created_at")]
    #[value(name = "created_at", alias = "created")]
    Created,
    /// The model that answered last.
    Model,
    /// The branch that it last worked on.
    #[strum(serialize = "git_branch")]
    #[value(name = "git_branch", alias = "branch")]
    Branch,
    /// The name of its project in the store.
    Project,
    /// The file or directory that holds it.
    Path,
    /// Number of copies.
    Copies,
    /// The activity of the process that uses it.
    State,
    /// The start of that process.
    Since,
    /// The id of that process.
    Pid,
    /// Its title, without the first prompt in its place; only in JSON, as the following ones.
    #[strum(serialize = "title")]
    #[value(skip)]
    OwnTitle,
    /// The first prompt.
    #[value(skip)]
    FirstPrompt,
    /// The directory in which it was started.
    #[value(skip)]
    StartDir,
    /// The directory in which it last worked.
    #[value(skip)]
    LastDir,
    /// The source of the time of its last activity.
    #[value(skip)]
    ActiveSource,
    /// The session that it came from.
    #[value(skip)]
    ParentId,
}

impl Field {
    /// The fields of a line in a pipe.
    pub(crate) const OF_LINES: [Self; 7] =
        [Self::Agent, Self::Id, Self::Title, Self::Dir, Self::Active, Self::Size, Self::Problems];
    /// The columns of a table.
    pub(crate) const OF_TABLES: [Self; 7] =
        [Self::Agent, Self::Id, Self::Title, Self::Dir, Self::Active, Self::Size, Self::Marks];
    /// The columns of a table of sessions in use, and the fields of their lines in a pipe.
    pub(crate) const OF_RUNNING: [Self; 8] =
        [Self::Agent, Self::Id, Self::Title, Self::Dir, Self::Active, Self::State, Self::Since, Self::Pid];
    /// The columns of a list of tagged sessions, and the fields of their lines: the tags stay on a narrow screen.
    pub(crate) const OF_TAGGED: [Self; 6] = [Self::Agent, Self::Id, Self::Title, Self::Tags, Self::Dir, Self::Active];
    /// The facts of a session in JSON, in their order.
    pub(crate) const OF_JSON: [&[Self]; 3] = [
        &[
            Self::Agent,
            Self::Id,
            Self::Kind,
            Self::OwnTitle,
            Self::FirstPrompt,
            Self::Dir,
            Self::StartDir,
            Self::LastDir,
        ],
        &[Self::Project, Self::Created, Self::Active, Self::ActiveSource, Self::Size, Self::Prompts, Self::Replies],
        &[Self::Tokens, Self::Cost, Self::Model, Self::Branch, Self::ParentId],
    ];
    /// The fields about the process.
    const OF_PROCESS: [Self; 3] = [Self::State, Self::Since, Self::Pid];
    /// Fields that exist only after counting.
    pub(crate) const COUNTS: [Self; 2] = [Self::Prompts, Self::Replies];
    /// Fields that exist only after reading what agents record about their models.
    pub(crate) const USAGE: [Self; 2] = [Self::Tokens, Self::Cost];

    /// Returns the name that users type, and that CSV and JSON have.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Returns whether the field needs counting, which reads every transcript to its end.
    pub(crate) fn needs_counts(self) -> bool {
        Self::COUNTS.contains(&self)
    }

    /// Returns whether the field needs the usage, for which most transcripts are read to their ends.
    pub(crate) fn needs_usage(self) -> bool {
        Self::USAGE.contains(&self)
    }

    /// Returns whether the field is about the process that uses the session.
    pub(crate) fn needs_process(self) -> bool {
        Self::OF_PROCESS.contains(&self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_names_round_trip() {
        for field in Field::value_variants() {
            assert_eq!(Field::from_str(field.name(), false), Ok(*field));
        }
    }
}
