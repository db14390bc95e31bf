//! Writes a session with the fixture of an agent.

use std::path::Path;

use serde_json::json;

use super::corpus::{Part, Session};
use crate::fixtures::{Claude, Codex, Copilot, Fixture, Gemini, Gptme, Kimi, Pi, Qwen, id};
#[cfg(feature = "sqlite")]
use crate::fixtures::{Goose, OpenCode, opencode_id};

const AGENTS: &[&str] = &[
    "claude",
    "codex",
    "copilot",
    "gemini",
    "gptme",
    "kimi",
    "pi",
    "qwen",
    #[cfg(feature = "sqlite")]
    "goose",
    #[cfg(feature = "sqlite")]
    "opencode",
];

/// Writes the session of this number, and returns its agent and its id.
pub(crate) fn write(home: &Path, number: usize, session: &Session) -> (&'static str, String) {
    let agent = AGENTS[number % AGENTS.len()];
    let n = u32::try_from(number).expect("a small number");
    let dir = format!("/srv/app-{}", number % 7);
    let parts = &session.parts;
    let id = match agent {
        "opencode" | "goose" | "gptme" => id_of(agent, n),
        _ => id(n),
    };
    match agent {
        "claude" => {
            let output = |claude: Claude, text: &str| {
                let call = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "rg let"}});
                let result = json!({"type": "tool_result", "tool_use_id": "t", "content": text});
                let message = json!({"role": "user", "content": [result]});
                claude.reply_block("msg_t", &call).message("user", &message, &json!({}))
            };
            put(home, Claude::session(&id).in_dir(dir), parts, Claude::turn, output);
        }
        "codex" => {
            let output = |codex: Codex, text: &str| codex.tool("rg let", text);
            put(home, Codex::session(&id).in_dir(dir), parts, Codex::turn, output);
        }
        "copilot" => {
            let output = |copilot: Copilot, text: &str| copilot.call("rg let", text);
            put(home, Copilot::session(&id).in_dir(dir), parts, Copilot::turn, output);
        }
        "gptme" => {
            let output = |gptme: Gptme, text: &str| gptme.record("system", text, json!({}));
            put(home, Gptme::session(&id).in_dir(dir), parts, Gptme::turn, output);
        }
        "kimi" => {
            let output = |kimi: Kimi, text: &str| kimi.call("rg let").answer(text);
            put(home, Kimi::session(&id).in_dir(dir), parts, Kimi::turn, output);
        }
        "gemini" => put_code(home, Gemini::session(&id).in_dir(dir), parts, Gemini::turn),
        "pi" => put_code(home, Pi::session(&id).in_dir(dir), parts, Pi::turn),
        "qwen" => put_code(home, Qwen::session(&id).in_dir(dir), parts, Qwen::turn),
        #[cfg(feature = "sqlite")]
        "goose" => put_code(home, Goose::session(&id).in_dir(dir), parts, Goose::turn),
        #[cfg(feature = "sqlite")]
        "opencode" => put_code(home, OpenCode::session(&id).in_dir(dir), parts, OpenCode::turn),
        other => panic!("no fixture writes sessions of {other}"),
    }
    (agent, id)
}

fn id_of(agent: &str, n: u32) -> String {
    match agent {
        #[cfg(feature = "sqlite")]
        "opencode" => opencode_id(n),
        "goose" => format!("20260201_{n}"),
        _ => format!("2026-02-01-quiet-blue-fox-{n}"),
    }
}

fn put<F: Fixture>(
    home: &Path,
    session: F,
    parts: &[Part],
    turn: impl Fn(F, &str, &str) -> F,
    output: impl Fn(F, &str) -> F,
) {
    let add = |session, part: &Part| match part {
        Part::Turn(prompt, reply) => turn(session, prompt, reply),
        Part::Output(text) => output(session, text),
    };
    parts.iter().fold(session, add).write_to(home);
}

/// Like [`put`], for a fixture without output of tools: the code is a reply.
fn put_code<F: Fixture>(home: &Path, session: F, parts: &[Part], turn: impl Fn(F, &str, &str) -> F) {
    put(home, session, parts, &turn, |session, text| turn(session, "Show me.", &format!("```\n{text}\n```")));
}
