//! The registry of commands: one entry per command in `list`, from which every list of them is made.

mod list;

pub(crate) use list::verbs;

/// A group of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VerbGroup {
    Daily,
    Repair,
    Keep,
    Move,
    Integrate,
}

impl VerbGroup {
    /// The groups in the order of the help.
    pub(crate) const ALL: [Self; 5] = [Self::Daily, Self::Repair, Self::Keep, Self::Move, Self::Integrate];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Daily => "Daily",
            Self::Repair => "Repair",
            Self::Keep => "Keep and clean up",
            Self::Move => "Move",
            Self::Integrate => "Integrate",
        }
    }
}

/// The list that names a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VerbRank {
    /// `rejoin help`.
    Main,
    /// `rejoin help all`.
    More,
    /// None: the last line of every list names `rejoin help`.
    Last,
}

/// A word of another program, and the equivalent arguments of rejoin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InPlaceOf {
    pub word: &'static str,
    pub instead: &'static str,
}

/// A command line of the sample home, and its purpose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Example {
    pub line: &'static str,
    pub meaning: &'static str,
}

macro_rules! rank {
    (main) => {
        VerbRank::Main
    };
    (more) => {
        VerbRank::More
    };
    (last) => {
        VerbRank::Last
    };
}

macro_rules! may_change {
    (reads) => {
        false
    };
    (changes) => {
        true
    };
}

macro_rules! registry {
    ($(
        $(#[$($meta:tt)*])*
        $name:ident($args:ident) $module:ident {
            $group:ident $rank:ident $effect:ident,
            see [$($see:ident)*],
            $(in_place_of [$($word:literal => $instead:literal),* $(,)?],)?
            examples [$($line:literal => $meaning:literal),* $(,)?]
        }
    )*) => {
        /// A command of rejoin.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
        #[strum(serialize_all = "kebab-case")]
        pub(crate) enum Verb {
            $($name,)*
        }

        impl Verb {
            /// Every command, in the order of the help.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$name,)*];

            pub(crate) fn group(self) -> VerbGroup {
                match self {
                    $(Self::$name => VerbGroup::$group,)*
                }
            }

            pub(crate) fn rank(self) -> VerbRank {
                match self {
                    $(Self::$name => rank!($rank),)*
                }
            }

            /// Returns whether the command may change a file of an agent or of rejoin, or start a program.
            pub(crate) fn may_change(self) -> bool {
                match self {
                    $(Self::$name => may_change!($effect),)*
                }
            }

            /// Returns the related commands.
            pub(crate) fn related(self) -> &'static [Self] {
                match self {
                    $(Self::$name => &[$(Self::$see),*],)*
                }
            }

            /// Returns the words of other programs that mean this command.
            pub(crate) fn in_place_of(self) -> &'static [InPlaceOf] {
                match self {
                    $(Self::$name => &[$($(InPlaceOf { word: $word, instead: $instead }),*)?],)*
                }
            }

            /// Returns the examples of its help and its man page, the best ones first.
            pub(crate) fn examples(self) -> &'static [Example] {
                match self {
                    $(Self::$name => &[$(Example { line: $line, meaning: $meaning }),*],)*
                }
            }
        }
    };
}
verbs!(registry);

impl Verb {
    /// Returns the name that is typed and printed.
    pub(crate) fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the command of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|verb| verb.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn related_commands_exclude_the_command_itself() {
        for verb in Verb::ALL {
            assert_eq!(Verb::named(verb.name()), Some(*verb));
            let related = verb.related();
            assert!((1..=5).contains(&related.len()) && !related.contains(verb), "{verb:?}: {related:?}");
        }
        assert_eq!(Verb::named("frobnicate"), None);
    }

    #[test]
    fn alias_words_are_unique_and_suggest_their_command() {
        let mut known = Vec::new();
        for verb in Verb::ALL {
            for InPlaceOf { word, instead } in verb.in_place_of() {
                assert_eq!(instead.split(' ').next(), Some(verb.name()), "{word}");
                assert!(Verb::named(word).is_none() && !known.contains(word), "{word}");
                known.push(word);
            }
        }
    }
}
