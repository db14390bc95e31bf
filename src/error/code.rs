//! Stable names for the reasons of a refusal.

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
}

#[cfg(test)]
mod tests {
    use strum::VariantNames as _;

    use super::*;

    #[test]
    fn every_code_is_explained_in_docs_json_md() {
        let page = include_str!("../../docs/json.md");
        let missing: Vec<_> =
            RefusalCode::VARIANTS.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
