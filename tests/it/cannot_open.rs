//! Sessions that their agents cannot open: every command reports that before an agent is started, and names the remedy.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agent_rules;
use crate::contract::changes::DoctorFix;
use crate::contract::{Details, DoctorReport, ResumePlan, Session, Severity};
use crate::fixtures::{Codex, OpenHands, age, age_tree, id, lines, openhands_id, put};
use crate::ordinary;
use crate::picture::picture_of_stores;
use crate::world::World;

/// A kind of damage to a session of an agent, the text of the obstacle, and whether `doctor --fix` repairs it.
type Damage = (&'static str, fn(&World), &'static str, bool);

const DAMAGES: [Damage; 10] = [
    ("codex", lose_base, "the rollout that it continues", false),
    ("codex", lose_provider, "[model_providers.oldgate]", false),
    ("codex", lose_ordinals, "line 15, has no ordinal", true),
    ("copilot", grow, "more than 512 MiB", false),
    ("gemini", bury, "only context of Gemini CLI", true),
    ("grok", lose_summary, "summary.json", false),
    ("kimicode", cut_state, "state.json cannot be read as JSON", true),
    ("kimicode", lose_state, "state.json is missing", false),
    ("openhands", lose_event, "event 2 is missing, so OpenHands would send 2 of its 4 events", true),
    ("openhands", empty_event, "is empty or was cut off", true),
];

/// Agents without a known obstacle other than their own refusals and the codes of `doctor` for these.
const NONE_KNOWN: &[&str] = &[
    "aider",
    "amp",
    "amplifier",
    "antigravity",
    "auggie",
    "claude",
    "cline",
    "commandcode",
    "continue",
    "crush",
    "cursor",
    "devin",
    "droid",
    "goose",
    "gptme",
    "hermes",
    "jido",
    "kilo",
    "kimi",
    "kiro",
    "leo",
    "letta",
    "nanocoder",
    "omp",
    "opencode",
    "pi",
    "prime",
    "qoder",
    "qwen",
    "roo",
    "vibe",
];

/// A provider, the contents of config.toml, and a further change.
type Case<'a> = (&'static str, &'a str, &'a dyn Fn(&World));

fn codex_with(provider: &str) -> Codex {
    Codex::session(id(1)).in_dir("/usr/bin").meta("model_provider", json!(provider)).turn("look", "ok")
}

fn config(world: &World, text: &str) {
    put(&world.home().join(".codex/config.toml"), text);
}

fn lose_provider(world: &World) {
    world.add(codex_with("oldgate"));
    config(world, "model_provider = \"newgate\"\n[model_providers.newgate]\nname = \"New\"\n");
}

/// Adds a fork without the thread that it continues.
fn lose_base(world: &World) {
    let base = json!({"thread_id": id(2), "end_ordinal_exclusive": 14, "end_byte_offset": 38811});
    world.add(codex_with("openai").fork_of(&id(2)).meta("history_base", base));
}

/// Removes the ordinals of the last two records, so that the last numbers are those of their lines.
fn lose_ordinals(world: &World) {
    let session = Codex::session(id(1)).in_dir("/usr/bin").meta("history_mode", json!("paginated"));
    let session = ["one", "two", "three"].iter().fold(session, |session, text| session.turn(text, "ok"));
    let path = world.add(session);
    let text = std::fs::read_to_string(&path).expect("a rollout");
    let mut records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a record")).collect();
    records.truncate(15);
    for record in records.iter_mut().rev().take(2) {
        record.as_object_mut().expect("an object").remove("ordinal").expect("an ordinal");
    }
    put(&path, lines(&records));
}

/// Makes the log longer than the longest string of Node.js, with a hole in its middle.
pub(crate) fn grow(world: &World) {
    ordinary::write("copilot", world);
    let path = find(world, "events.jsonl");
    let text = std::fs::read_to_string(&path).expect("a log");
    let last = text.lines().last().expect("a line");
    let file = File::options().write(true).open(&path).expect("a file");
    file.write_all_at(format!("\n{last}\n").as_bytes(), 0x1fff_ffe8).expect("a log");
    age(&find(world, "workspace.yaml"));
    drop(file);
    let then = "2026-02-01T10:00:00Z".parse().expect("a time");
    crate::fixtures::age_to(&path, then);
}

/// Appends what Gemini CLI 0.53 wrote when another program loaded a session in the minute of its start.
fn bury(world: &World) {
    ordinary::write("gemini", world);
    let chats = walkdir::WalkDir::new(world.home().join(".gemini")).into_iter();
    let mut files = chats.map(|entry| entry.expect("an entry").into_path());
    let path = files.find(|path| is_jsonl(path)).expect("a chat");
    let text = std::fs::read_to_string(&path).expect("a chat");
    let header = text.lines().next().expect("a header");
    let context = json!({"id": "context", "timestamp": "2026-02-01T10:00:00Z", "type": "user",
        "content": [{"text": "<session_context>\nThis is the Gemini CLI."}]});
    let set = json!({"$set": {"messages": [context], "lastUpdated": "2026-02-01T10:00:00Z"}});
    put(&path, format!("{text}{header}\n{set}\n"));
    age(&path);
}

fn lose_summary(world: &World) {
    ordinary::write("grok", world);
    std::fs::remove_file(find(world, "summary.json")).expect("a file");
    age_tree(&world.home());
}

fn cut_state(world: &World) {
    ordinary::write("kimicode", world);
    put(&find(world, "state.json"), "{\"id\":\"ses");
    let entry = json!({"sessionId": format!("session_{}", id(1)), "sessionDir": "/x", "workDir": "/usr/bin"});
    put(&world.home().join(".kimi-code/session_index.jsonl"), lines(&[entry]));
    age_tree(&world.home());
}

fn lose_state(world: &World) {
    ordinary::write("kimicode", world);
    std::fs::remove_file(find(world, "state.json")).expect("a file");
    age_tree(&world.home());
}

fn openhands_event(world: &World) -> PathBuf {
    let session = OpenHands::session(openhands_id(1)).in_dir("/usr/bin").turn("one", "1").turn("two", "2");
    let path = world.add(session).join("events");
    let mut events: Vec<PathBuf> =
        std::fs::read_dir(path).expect("events").map(|it| it.expect("an entry").path()).collect();
    events.sort();
    events.into_iter().find(|path| path.to_string_lossy().contains("event-00002")).expect("an event")
}

fn lose_event(world: &World) {
    std::fs::remove_file(openhands_event(world)).expect("a file");
    age_tree(&world.home());
}

fn empty_event(world: &World) {
    put(&openhands_event(world), "");
    age_tree(&world.home());
}

fn find(world: &World, name: &str) -> PathBuf {
    let files = walkdir::WalkDir::new(world.home()).into_iter().map(|entry| entry.expect("an entry").into_path());
    files.into_iter().find(|path| path.ends_with(name)).expect("a file")
}

fn listed(world: &World) -> Session {
    world.rejoin(["list", "--all", "--json"]).code(0).sessions().remove(0)
}

fn cannot_be_opened(session: &Session) -> bool {
    session.health.contains(&"cannot-open".to_owned())
}

#[test]
fn table_covers_unopenable_sessions_of_every_agent() {
    let known: BTreeSet<&str> = DAMAGES.iter().map(|(name, ..)| *name).chain(NONE_KNOWN.iter().copied()).collect();
    agent_rules::hold("it is known what keeps it from opening a session", "tests/it/cannot_open.rs", |agent| {
        assert!(known.contains(agent), "add it to NONE_KNOWN, or its damage to DAMAGES");
    });
}

#[test]
fn resume_refuses_session_that_agent_cannot_open() {
    for (agent, damage, words, is_mended) in DAMAGES {
        let world = World::with_agents();
        damage(&world);
        let session = listed(&world);
        assert!(cannot_be_opened(&session) && !session.resumable, "{agent}: {:?}", session.health);
        let table = world.on_terminal(160, ["list", "--all"]).code(0).stdout();
        assert!(table.contains("cannot open"), "{table}");
        let shown: Details = world.rejoin(["show", &session.id, "--json"]).code(0).json();
        assert!(shown.notes[0].contains(words), "{agent}: {:?}", shown.notes);
        for args in [&["--print"][..], &["--in", "/usr/bin"]] {
            let stderr = world.rejoin([&["resume", session.id.as_str()], args].concat()).code(7).stderr();
            assert!(stderr.contains(words) && stderr.contains("rejoin export"), "{agent}: {stderr}");
        }
        let plan: ResumePlan = world.rejoin(["resume", &session.id, "--in", "/usr/bin", "--json"]).json();
        assert!(plan.refusals.iter().any(|refusal| refusal.message.contains(words)), "{agent}");
        assert!(world.launched().is_none(), "{agent}");

        let check = ["doctor", "--check", "cannot-open"];
        let report: DoctorReport = world.rejoin(check.iter().chain(&["--json"])).code(4).json();
        let [finding] = &report.findings[..] else { panic!("{agent}: {} findings", report.findings.len()) };
        assert_eq!(finding.severity, Severity::Error, "{agent}");
        assert!(finding.evidence.contains(words) && finding.repair.is_some() == is_mended, "{agent}: {finding:?}");
        assert!(finding.remedies.iter().any(|remedy| remedy.command.contains("rejoin export")), "{agent}");
        let before = picture_of_stores(&world.home());
        if is_mended {
            let _: DoctorFix = world.rejoin(check.iter().chain(&["--fix", "--json"])).code(0).json();
            let session = listed(&world);
            assert!(!cannot_be_opened(&session), "{agent}: {:?}", session.health);
            let line = world.rejoin(["resume", &session.id, "--print"]).code(0).stdout();
            assert!(line.contains("cd /usr/bin && "), "{line}");
            world.rejoin(["undo"]).code(0);
        }
        assert!(before == picture_of_stores(&world.home()), "{agent}");
        let cleanup = world.rejoin(["cleanup", "--empty", "--any-age", "--allow-all", "--dry-run"]).code(0).stdout();
        assert!(cleanup.contains("Nothing to do"), "{agent}: {cleanup}");
    }
}

#[test]
fn doctor_groups_sessions_by_missing_provider() {
    let world = World::new();
    lose_provider(&world);
    world.add(Codex::session(id(2)).in_dir("/usr/bin").meta("model_provider", json!("oldgate")).turn("a", "b"));
    world.add(Codex::session(id(3)).in_dir("/usr/bin").meta("model_provider", json!("newgate")).turn("a", "b"));
    let report: DoctorReport = world.rejoin(["doctor", "--check", "cannot-open", "--json"]).code(4).json();
    assert_eq!((report.findings.len(), report.findings[0].sessions.len()), (1, 2));
    assert!(report.findings[0].evidence.starts_with("2 sessions of codex"), "{}", report.findings[0].evidence);
}

#[test]
fn provider_from_unknown_config_does_not_block_resume() {
    let lost = "[model_providers.newgate]\nname = \"New\"\n";
    let table = "[model_providers.oldgate]\nname = \"Old\"\n";
    let profile = |world: &World| put(&world.home().join(".codex/work.config.toml"), table);
    let cases: [Case<'_>; 5] = [
        ("oldgate", "", &|world| std::fs::remove_file(world.home().join(".codex/config.toml")).expect("a file")),
        ("oldgate", "model = \"x", &|_| ()),
        ("oldgate", lost, &profile),
        ("oldgate", table, &|_| ()),
        ("openai", lost, &|_| ()),
    ];
    for (n, (provider, text, change)) in cases.into_iter().enumerate() {
        let world = World::new();
        let app = world.dir("app");
        world.add(Codex::session(id(1)).in_dir(&app).meta("model_provider", json!(provider)).turn("a", "b"));
        config(&world, text);
        change(&world);
        assert!(!cannot_be_opened(&listed(&world)), "case {n}");
        world.rejoin(["resume", &id(1), "--print"]).code(0);
    }
    // Codex has the provider of a profile only if it is started with that profile.
    let world = World::new();
    world.add(codex_with("oldgate"));
    config(&world, lost);
    profile(&world);
    let plan = |words: &[&str]| world.rejoin(words).code(0).json::<ResumePlan>().resume.argv;
    assert_eq!(plan(&["resume", &id(1), "--json"]), ["codex", "-p", "work", "resume", &id(1)]);
    assert_eq!(plan(&["resume", &id(1), "--prompt", "x", "--json"])[..4], ["codex", "-p", "work", "exec"]);
    put(&world.home().join(".codex/home.config.toml"), table);
    let refused = world.rejoin(["resume", &id(1), "--print"]).code(7).stderr();
    assert!(refused.contains("only the profiles home, work have its model provider `oldgate`"), "{refused}");
    // Codex takes no provider from the settings of a project.
    let world = World::new();
    world.add(Codex::session(id(1)).in_dir(world.dir("app")).meta("model_provider", json!("oldgate")).turn("a", "b"));
    config(&world, lost);
    put(&world.dir("app").join(".codex/config.toml"), table);
    assert!(cannot_be_opened(&listed(&world)));
    let words = ["resume", &id(1), "--print", "--", "-c", "model_providers.oldgate.name=\"x\""];
    world.rejoin(words).code(0);
}

#[test]
fn missing_ordinal_matters_only_at_the_end() {
    let world = World::new();
    lose_ordinals(&world);
    let path = rollout(&world);
    let text = std::fs::read_to_string(&path).expect("a rollout");
    let last = r#"{"timestamp":"2026-02-01T10:30:00Z","ordinal":40,"type":"event_msg","payload":{}}"#;
    put(&path, format!("{text}{last}\n"));
    assert!(!cannot_be_opened(&listed(&world)));
    put(&path, text.replace("\"paginated\"", "\"legacy\""));
    assert!(!cannot_be_opened(&listed(&world)));
}

fn rollout(world: &World) -> PathBuf {
    let files = walkdir::WalkDir::new(world.home().join(".codex/sessions")).into_iter();
    let files = files.map(|entry| entry.expect("an entry").into_path());
    files.into_iter().find(|path| is_jsonl(path)).expect("a rollout")
}

fn is_jsonl(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}
