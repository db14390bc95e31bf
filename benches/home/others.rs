//! Sessions of the agents other than Claude Code, built by the fixtures of the tests.

use std::path::Path;

use serde_json::json;

use super::fixtures::{
    Amplifier, Codex, Copilot, Fixture, Gemini, Gptme, Jido, Kimi, OpenHands, Pi, Qwen, Vibe, id, openhands_id,
};
#[cfg(feature = "sqlite")]
use super::fixtures::{Antigravity, Devin, Goose, Hermes, OpenCode, hermes_id, opencode_id};

/// Each agent with its directory below the home.
pub(super) const AGENTS: &[(&str, &str)] = &[
    #[cfg(feature = "sqlite")]
    ("devin", ".local/share/devin"),
    #[cfg(feature = "sqlite")]
    ("antigravity", ".gemini/antigravity-cli"),
    ("amplifier", ".amplifier"),
    ("codex", ".codex"),
    ("copilot", ".copilot"),
    ("gemini", ".gemini"),
    #[cfg(feature = "sqlite")]
    ("goose", ".local/share/goose"),
    ("gptme", ".local/share/gptme"),
    #[cfg(feature = "sqlite")]
    ("hermes", ".hermes"),
    ("jido", ".jido_code"),
    #[cfg(feature = "sqlite")]
    ("kilo", ".local/share/kilo"),
    ("kimi", ".kimi"),
    #[cfg(feature = "sqlite")]
    ("opencode", ".local/share/opencode"),
    ("openhands", ".openhands"),
    ("pi", ".pi"),
    ("qwen", ".qwen"),
    ("vibe", ".vibe"),
];

/// Writes the n-th session of an agent, which was started in this directory.
pub(super) fn write(agent: &str, home: &Path, dir: &str, n: u32, turns: &[(String, String)]) {
    let add = Writer { home, turns };
    match agent {
        "amplifier" => add.write(Amplifier::session(id(n)).in_dir(dir).session_info(dir), Amplifier::turn),
        "codex" => add.write(Codex::session(id(n)).in_dir(dir), Codex::turn),
        "copilot" => add.write(Copilot::session(id(n)).in_dir(dir), Copilot::turn),
        "gemini" => add.write(Gemini::session(id(n)).in_dir(dir), Gemini::turn),
        "gptme" => add.write(Gptme::session(format!("2026-02-01-quiet-blue-fox-{n}")).in_dir(dir), Gptme::turn),
        "kimi" => add.write(Kimi::session(id(n)).in_dir(dir), Kimi::turn),
        "openhands" => add.write(OpenHands::session(openhands_id(n)).in_dir(dir), OpenHands::turn),
        "pi" => add.write(Pi::session(id(n)).in_dir(dir), Pi::turn),
        "qwen" => add.write(Qwen::session(id(n)).in_dir(dir), Qwen::turn),
        "vibe" => add.write(Vibe::session(id(n)).in_dir(dir), Vibe::turn),
        #[cfg(feature = "sqlite")]
        "antigravity" => add.write(Antigravity::conversation(id(n)).in_dir(dir), Antigravity::turn),
        #[cfg(feature = "sqlite")]
        "devin" => add.write(Devin::session(&format!("river-{n}")).in_dir(dir), Devin::turn),
        #[cfg(feature = "sqlite")]
        "goose" => add.write(Goose::session(&format!("20260201_{n}")).in_dir(dir), Goose::turn),
        #[cfg(feature = "sqlite")]
        "hermes" => add.write(Hermes::session(hermes_id(n)).in_dir(dir), Hermes::turn),
        #[cfg(feature = "sqlite")]
        "kilo" => add.write(OpenCode::of_kilo(opencode_id(n)).in_dir(dir), OpenCode::turn),
        #[cfg(feature = "sqlite")]
        "opencode" => add.write(OpenCode::session(opencode_id(n)).in_dir(dir), OpenCode::turn),
        _ => {
            let at = "2026-02-01T10:00:00Z";
            let said = |role: &str, text: &str| json!({"id": role, "role": role, "content": text, "timestamp": at});
            let messages = turns.iter().flat_map(|(asked, replied)| [said("user", asked), said("assistant", replied)]);
            let conversation = messages.collect::<Vec<_>>().into();
            Jido::session(id(n)).in_dir(dir).key("conversation", conversation).write_to(home);
        }
    }
}

struct Writer<'a> {
    home: &'a Path,
    turns: &'a [(String, String)],
}

impl Writer<'_> {
    fn write<F: Fixture>(&self, session: F, turn: impl Fn(F, &str, &str) -> F) {
        self.turns.iter().fold(session, |session, (asked, replied)| turn(session, asked, replied)).write_to(self.home);
    }
}
