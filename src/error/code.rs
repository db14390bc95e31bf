//! Stable names for the reasons of a refusal.

use super::Exit;

/// Declares the reasons of a refusal, grouped by the usual exit code of a run that ends for them.
macro_rules! refusal_codes {
    ($($exit:ident: $($code:ident)+;)+) => {
        /// The reason of a refusal. The name is part of the interface; docs/json.md explains each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantNames)]
        #[strum(serialize_all = "kebab-case")]
        pub(crate) enum RefusalCode {
            $($($code,)+)+
        }

        impl RefusalCode {
            /// Returns the usual exit code of a run that ends for this reason.
            pub(super) fn exit(self) -> Exit {
                match self {
                    $($(Self::$code)|+ => Exit::$exit,)+
                }
            }
        }
    };
}

refusal_codes! {
    Failure: ArchiveDamaged BadHome BadState CannotSave Declined Failed NoDirectory NoHome NoRoom NothingSaid
        PathNotText Unreadable UnsafeConfig;
    Usage: ArchiveInStore BadClock BadConfig BadZone NeedsYes OutputInStore Usage;
    NotFound: Filtered NoArchive NoSuchRun NoSuchState NotFound NotPinned NothingToUndo;
    Ambiguous: Ambiguous AmbiguousCopy;
    Partial: HostFailed;
    Refused: Clock DirectoryChanged Exists InTheWay Live Locked MissingDirectory MoreThanHalf NeedsTerminal
        NoAgent NoStore NoWorktree NotADirectory NotOfTheSession NotPrintable NotRemovable NotRenamable
        NotResumable NotRewindable OtherCopy OtherOwner PlanChanged Planted Purged SettingsElsewhere
        SettingsNotUnderstood TooManyResumes UnansweredDirectory UnknownDirectory UnknownStore UnreadableRun
        UntrustedDirectory UntrustedRepository WholeAgent WouldNotEnd WouldStartAnew WrongProgram;
    CannotRun: CannotRun;
    ProgramNotFound: ProgramNotFound;
    Interrupted: NothingPicked;
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
    fn docs_json_md_explains_every_code() {
        let page = include_str!("../../docs/json.md");
        let missing: Vec<_> =
            RefusalCode::VARIANTS.iter().filter(|name| !page.contains(&format!("`{name}`"))).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
