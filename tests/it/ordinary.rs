//! An ordinary session of each agent: one prompt and its reply, in an existing directory.

use std::path::Path;

use serde_json::json;

use crate::facts::copy_tree;
use crate::fixtures::{
    Aider, Amplifier, Claude, Codex, Copilot, Gemini, Gptme, Jido, Kimi, Leo, OpenHands, Pi, Qwen, Vibe, age_tree, id,
    openhands_id, put,
};
use crate::world::World;

/// A directory that exists on every machine.
const APP: &str = "/usr/bin";

/// Writes an ordinary session of an agent; returns whether there is one.
///
/// An agent that is not named here may have a sample in its own folder: a home with one session, as text.
pub(crate) fn write(agent: &str, world: &World) -> bool {
    write_in(agent, world, APP)
}

/// Writes an ordinary session of an agent that records this directory, if its records can name one.
pub(crate) fn write_in(agent: &str, world: &World, dir: &str) -> bool {
    let (asked, reply) = ("where does the river end?", "In the sea.");
    let said_by = |role: &str, text: &str| json!({"id": role, "role": role, "content": text, "timestamp": "2026-02-01T10:00:00Z"});
    let _ = match agent {
        "aider" => {
            let app = world.dir("home/app");
            put(&world.home().join(".aider/installs.json"), "{}");
            // Aider's session is found through the directories of other sessions.
            world.add(Claude::session(id(1)).in_dir(&app).turn("look", "ok"));
            Aider::history().turn(asked, reply).write_in_repository(&app)
        }
        "amplifier" => world.add(Amplifier::session(id(1)).in_dir(dir).session_info(dir).turn(asked, reply)),
        "claude" => world.add(Claude::session(id(1)).in_dir(dir).turn(asked, reply)),
        "codex" => world.add(Codex::session(id(1)).in_dir(dir).turn(asked, reply)),
        "copilot" => world.add(Copilot::session(id(1)).in_dir(dir).turn(asked, reply)),
        "gemini" => world.add(Gemini::session(id(1)).in_dir(dir).turn(asked, reply)),
        "gptme" => world.add(Gptme::session("2026-02-01-quiet-blue-fox").in_dir(dir).turn(asked, reply)),
        "jido" => {
            let conversation = json!([said_by("user", asked), said_by("assistant", reply)]);
            world.add(Jido::session(id(1)).in_dir(dir).key("conversation", conversation))
        }
        "kimi" => world.add(Kimi::session(id(1)).in_dir(dir).turn(asked, reply)),
        "leo" => {
            world.add(Claude::session(id(1)).in_dir(dir).turn(asked, reply));
            world.add(Leo::pointer(world.home().join("workspace/app/River"), &id(1)))
        }
        "openhands" => world.add(OpenHands::session(openhands_id(1)).in_dir(dir).turn(asked, reply)),
        "pi" => world.add(Pi::session(id(1)).in_dir(dir).turn(asked, reply)),
        "qwen" => world.add(Qwen::session(id(1)).in_dir(dir).turn(asked, reply)),
        "vibe" => world.add(Vibe::session(id(1)).in_dir(dir).turn(asked, reply)),
        #[cfg(feature = "sqlite")]
        "antigravity" => world.add(crate::fixtures::Antigravity::conversation(id(1)).in_dir(dir).turn(asked, reply)),
        #[cfg(feature = "sqlite")]
        "devin" => world.add(crate::fixtures::Devin::session("river-1").in_dir(dir).turn(asked, reply)),
        #[cfg(feature = "sqlite")]
        "goose" => world.add(crate::fixtures::Goose::session("20260201_1").in_dir(dir).turn(asked, reply)),
        #[cfg(feature = "sqlite")]
        "hermes" => {
            world.add(crate::fixtures::Hermes::session(crate::fixtures::hermes_id(1)).in_dir(dir).turn(asked, reply))
        }
        #[cfg(feature = "sqlite")]
        "kilo" => world
            .add(crate::fixtures::OpenCode::of_kilo(crate::fixtures::opencode_id(1)).in_dir(dir).turn(asked, reply)),
        #[cfg(feature = "sqlite")]
        "opencode" => world
            .add(crate::fixtures::OpenCode::session(crate::fixtures::opencode_id(1)).in_dir(dir).turn(asked, reply)),
        #[cfg(feature = "sqlite")]
        "crush" => {
            let (app, home) = (world.dir("app"), world.home());
            crate::fixtures::register_crush(&home, &[(&app, &app.join(".crush"))]);
            crate::fixtures::Crush::session(id(1)).turn(asked, reply).write_in(&app.join(".crush"))
        }
        _ => {
            let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agent").join(agent).join("sample");
            if !sample.is_dir() {
                return false;
            }
            copy_tree(&sample, &world.home());
            if dir != APP {
                rename_in(&world.home(), dir);
            }
            world.home()
        }
    };
    age_tree(&world.home());
    true
}

/// Replaces the recorded directory in the files of a sample, in its JSON form.
fn rename_in(home: &Path, dir: &str) {
    let quoted = serde_json::Value::from(dir).to_string();
    for entry in
        walkdir::WalkDir::new(home).into_iter().filter_map(Result::ok).filter(|entry| entry.file_type().is_file())
    {
        let text = std::fs::read_to_string(entry.path()).expect("text");
        std::fs::write(entry.path(), text.replace(APP, &quoted[1..quoted.len() - 1])).expect("a file");
    }
}
