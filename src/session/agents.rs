//! The list of agents: one line each, from which every other list of them is generated.

/// Passes the list of agents to a macro: those that keep sessions, then those that only point to sessions of another
/// one. A line has the agent's variant, its module in `src/agent`, which is also its name in the command line and in
/// output, and its description in help texts. The order is that of listings.
macro_rules! agents {
    ($make:ident) => {
        $make! {
            sessions {
                Amplifier amplifier "Amplifier, its distro and its command line";
                Claude claude "Claude Code";
                Jido jido "JidoCode";
                Codex codex "Codex";
                Gemini gemini "Gemini CLI";
                OpenCode opencode "OpenCode";
                Kilo kilo "Kilo";
                Qwen qwen "Qwen Code";
                Qoder qoder "Qoder CLI";
                Copilot copilot "Copilot CLI";
                Grok grok "Grok Build";
                Pi pi "Pi";
                Omp omp "oh-my-pi";
                CommandCode commandcode "Command Code";
                Prime prime "Prime Agent";
                Vibe vibe "Vibe";
                Kimi kimi "Kimi CLI";
                KimiCode kimicode "Kimi Code";
                Cline cline "Cline CLI";
                Roo roo "Roo Code";
                Cursor cursor "Cursor CLI";
                Kiro kiro "Kiro CLI";
                Amp amp "Amp";
                Antigravity antigravity "Antigravity CLI";
                Droid droid "Factory's Droid";
                Auggie auggie "Auggie";
                Continue r#continue "Continue CLI";
                Nanocoder nanocoder "Nanocoder";
                Letta letta "Letta Code";
                OpenHands openhands "OpenHands";
                Gptme gptme "gptme";
                Hermes hermes "Hermes";
                Devin devin "Devin CLI";
                Goose goose "Goose";
                Aider aider "Aider";
                Crush crush "Crush";
            }
            pointers {
                Leo leo Claude "Leo, whose pointers name sessions of Claude Code";
            }
        }
    };
}
pub(crate) use agents;

macro_rules! kinds {
    (
        sessions { $($kind:ident $name:ident $help:literal;)* }
        pointers { $($pointer:ident $pointer_name:ident $owner:ident $pointer_help:literal;)* }
    ) => {
        /// A program that writes sessions.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
            clap::ValueEnum,
        )]
        #[serde(rename_all = "lowercase")]
        #[value(rename_all = "lower")]
        pub(crate) enum AgentKind {
            $(#[doc = concat!($help, ".")] #[value(help = $help)] $kind,)*
            $(#[doc = concat!($pointer_help, ".")] #[value(help = $pointer_help)] $pointer,)*
        }

        impl AgentKind {
            /// Returns the programs that only point to sessions.
            pub(crate) const fn pointers() -> &'static [Self] {
                &[$(Self::$pointer),*]
            }

            /// Returns the name that is typed and printed.
            pub(crate) fn name(self) -> &'static str {
                let name = match self {
                    $(Self::$kind => stringify!($name),)*
                    $(Self::$pointer => stringify!($pointer_name),)*
                };
                // The name of a module that is a keyword begins with `r#`.
                name.trim_start_matches("r#")
            }

            /// Returns the program of this name.
            pub(crate) fn named(name: &str) -> Option<Self> {
                clap::ValueEnum::from_str(name, false).ok()
            }

            /// Returns the agent of the sessions that it represents: itself, or the one that its pointers name.
            pub(crate) fn session_owner(self) -> Self {
                match self {
                    $(Self::$pointer => Self::$owner,)*
                    own => own,
                }
            }
        }
    };
}
agents!(kinds);

impl std::fmt::Display for AgentKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;

    use super::*;

    #[test]
    fn agent_name_is_same_in_cli_and_json() {
        for kind in AgentKind::value_variants() {
            assert_eq!(AgentKind::from_str(kind.name(), false), Ok(*kind));
            assert_eq!(serde_json::to_value(kind).ok(), Some(kind.name().into()));
        }
    }

    #[test]
    fn pointer_agent_has_session_owner() {
        assert_eq!(AgentKind::Leo.session_owner(), AgentKind::Claude);
        assert_eq!(AgentKind::Kimi.session_owner(), AgentKind::Kimi);
    }
}
