//! Stable names for the reasons of a refusal.

use super::Exit;

/// The reason of a refusal. The name is part of the interface; docs/json.md explains each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum RefusalCode {
    Ambiguous,
    AmbiguousCopy,
    ArchiveDamaged,
    ArchiveInStore,
    BadClock,
    BadConfig,
    BadHome,
    BadState,
    BadZone,
    CannotRun,
    CannotSave,
    Clock,
    Declined,
    DirectoryChanged,
    Exists,
    Failed,
    Filtered,
    HostFailed,
    InTheWay,
    Live,
    Locked,
    MissingDirectory,
    MoreThanHalf,
    NeedsTerminal,
    NeedsYes,
    NoAgent,
    NoArchive,
    NoDirectory,
    NoHome,
    NoRoom,
    NoStore,
    NoSuchRun,
    NoSuchState,
    NoWorktree,
    #[strum(serialize = "not-a-directory")]
    NotADirectory,
    NotFound,
    NotOfTheSession,
    NotPinned,
    NotPrintable,
    NotRemovable,
    NotRenamable,
    NotResumable,
    NotRewindable,
    NothingPicked,
    NothingSaid,
    NothingToUndo,
    OtherCopy,
    OtherOwner,
    OutputInStore,
    PathNotText,
    PlanChanged,
    Planted,
    ProgramNotFound,
    Purged,
    SettingsElsewhere,
    SettingsNotUnderstood,
    TooManyResumes,
    UnansweredDirectory,
    UnknownDirectory,
    UnknownStore,
    Unreadable,
    UnreadableRun,
    UnsafeConfig,
    UntrustedDirectory,
    UntrustedRepository,
    Usage,
    WholeAgent,
    WouldNotEnd,
    WouldStartAnew,
    WrongProgram,
}

impl RefusalCode {
    /// Returns the name in JSON, such as `not-found`.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the usual exit code of a run that ends for this reason.
    pub(super) fn exit(self) -> Exit {
        match self {
            Self::Usage | Self::BadConfig | Self::BadClock | Self::BadZone | Self::NeedsYes => Exit::Usage,
            Self::ArchiveInStore | Self::OutputInStore => Exit::Usage,
            Self::NotFound | Self::Filtered | Self::NotPinned | Self::NothingToUndo => Exit::NotFound,
            Self::NoArchive | Self::NoSuchRun | Self::NoSuchState => Exit::NotFound,
            Self::Ambiguous | Self::AmbiguousCopy => Exit::Ambiguous,
            Self::HostFailed => Exit::Partial,
            Self::CannotRun => Exit::CannotRun,
            Self::ProgramNotFound => Exit::ProgramNotFound,
            Self::NothingPicked => Exit::Interrupted,
            Self::ArchiveDamaged | Self::BadHome | Self::BadState | Self::CannotSave | Self::Declined => Exit::Failure,
            Self::Failed | Self::NoDirectory | Self::NoHome | Self::NoRoom | Self::NothingSaid => Exit::Failure,
            Self::PathNotText | Self::Unreadable | Self::UnsafeConfig => Exit::Failure,
            Self::Clock | Self::DirectoryChanged | Self::Exists | Self::InTheWay | Self::Live => Exit::Refused,
            Self::Locked | Self::MissingDirectory | Self::MoreThanHalf | Self::NeedsTerminal => Exit::Refused,
            Self::NoAgent | Self::NoStore | Self::NoWorktree | Self::NotADirectory => Exit::Refused,
            Self::NotOfTheSession | Self::NotPrintable | Self::NotRemovable | Self::NotRenamable => Exit::Refused,
            Self::NotResumable
            | Self::NotRewindable
            | Self::OtherCopy
            | Self::OtherOwner
            | Self::PlanChanged
            | Self::Planted => Exit::Refused,
            Self::Purged | Self::SettingsElsewhere | Self::SettingsNotUnderstood => Exit::Refused,
            Self::TooManyResumes | Self::UnansweredDirectory | Self::UnknownDirectory => Exit::Refused,
            Self::UnknownStore | Self::UnreadableRun | Self::UntrustedDirectory => Exit::Refused,
            Self::UntrustedRepository | Self::WholeAgent | Self::WouldNotEnd | Self::WouldStartAnew => Exit::Refused,
            Self::WrongProgram => Exit::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use strum::VariantNames as _;

    use super::*;

    #[test]
    fn docs_json_md_explains_every_code() {
        let page = include_str!("../../docs/json.md");
        let missing: Vec<_> =
            RefusalCode::VARIANTS.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
