//! Codex's sessions: both formats, compressed and archived rollouts, locks, and their resume.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::contract::{Agent, Compared, Details, Kind, Liveness, ResumePlan, Session, SessionList};
use crate::fixtures::{Codex, CodexNames, Fixture as _, START, id, make_fifo, put};
use crate::world::{Answer, MAX_KIB, World, tries_every_case};

fn listed(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions()
}

/// Lists the only session of a world.
fn only(world: &World) -> Session {
    let mut sessions = listed(world);
    assert_eq!(sessions.len(), 1);
    sessions.remove(0)
}

fn one(fixture: Codex) -> Session {
    let world = World::new();
    world.add(fixture);
    only(&world)
}

fn counts(session: &Session) -> (Option<u64>, Option<u64>) {
    (session.prompts, session.replies)
}

fn plan<const N: usize>(world: &World, args: [&str; N]) -> ResumePlan {
    world.rejoin(["resume", "--json"].into_iter().chain(args)).plan()
}

fn transcript(answer: &Answer) -> Vec<String> {
    let lines: Vec<String> = answer.stdout().lines().map(str::to_owned).collect();
    let texts = lines.iter().filter_map(|line| line.strip_prefix("  ").or_else(|| line.strip_prefix("> ")));
    texts.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn show_reads_a_rollout() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Codex::session(id(1)).in_dir(&app).turn("add a test", "Which one?").turn("any", "Done."));
    world.add(CodexNames(&[(&id(1), "First name"), (&id(2), "Another"), (&id(1), " Tests "), (&id(1), "")]));
    let session = only(&world);
    assert_eq!((session.agent, session.kind, session.id.as_str()), (Agent::CODEX, Kind::Main, id(1).as_str()));
    assert_eq!((session.title.as_deref(), session.first_prompt.as_deref()), (Some("Tests"), Some("add a test")));
    assert_eq!((session.launch_path(), session.project.as_deref()), (app.to_str(), None));
    assert_eq!((session.start_dir.as_deref(), session.last_dir.as_deref()), (app.to_str(), app.to_str()));
    assert_eq!((session.git_branch.as_deref(), session.model.as_deref()), (Some("main"), Some("model-c")));
    assert_eq!(counts(&session), (Some(2), Some(2)));
    assert_eq!(session.created_at.as_deref(), Some(START));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-01T10:14:00Z"));
    assert!(session.health.is_empty() && session.resumable, "{:?}", session.health);
    assert_eq!(session.liveness, Liveness::Idle);
}

#[test]
fn old_and_new_records_give_same_counts() {
    let with_turns = |session: Codex| session.turn("one", "1").tool("ls", "a.txt").reply("2").prompt("three");
    let sessions = [
        with_turns(Codex::session(id(1))),
        with_turns(Codex::session(id(1)).in_old_words()),
        Codex::session(id(1))
            .in_old_words()
            .turn("one", "1")
            .in_new_words()
            .tool("ls", "a.txt")
            .reply("2")
            .prompt("three"),
        Codex::session(id(1)).turn("one", "1").in_old_words().tool("ls", "a.txt").reply("2").prompt("three"),
        with_turns(Codex::session(id(1)).bare()),
    ];
    for (case, fixture) in sessions.into_iter().enumerate() {
        let world = World::new();
        world.add(fixture);
        let session = only(&world);
        assert_eq!(counts(&session), (Some(2), Some(3)), "case {case}");
        assert_eq!(session.first_prompt.as_deref(), Some("one"), "case {case}");
        assert_eq!(session.launch_path(), Some("/home/ana/app"), "case {case}");
        let shown = world.rejoin(["show", &id(1), "--transcript"]).code(0);
        let expected = ["one", "1", r#"exec_command {"cmd":"ls"}"#, "→ a.txt", "2", "three"];
        assert_eq!(transcript(&shown), expected, "case {case}");
    }
}

#[test]
fn injected_text_is_not_a_prompt() {
    let sent =
        |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    let session = Codex::session(id(1))
        .record("response_item", sent("<user_instructions>\nBe nice.\n</user_instructions>"))
        .record("response_item", sent("# AGENTS.md instructions for /home/ana/app\n\nBe nice."))
        .record("event_msg", json!({"type": "user_message", "message": "<x>", "kind": "environment_context"}))
        .record("event_msg", json!({"type": "user_message", "message": "# Context from my IDE setup:\n\n## Open tabs:\n- a\n\n## My request for Codex:\nfix it\n"}))
        .record("response_item", sent("<turn_aborted>\nThe user interrupted.\n</turn_aborted>"))
        .record("event_msg", json!({"type": "turn_aborted", "reason": "interrupted"}));
    let session = one(session);
    assert_eq!(session.first_prompt.as_deref(), Some("fix it"));
    assert_eq!(counts(&session), (Some(1), Some(0)));
}

#[test]
fn show_prints_compaction_without_counting_it() {
    let world = World::new();
    let kept = json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]}]);
    let session = Codex::session(id(1)).turn("one", "1");
    let session = session.record("compacted", json!({"message": "They spoke of one.", "replacement_history": kept}));
    world.add(session.turn("two", "2"));
    assert_eq!(counts(&only(&world)), (Some(2), Some(2)));
    let shown = world.rejoin(["show", &id(1), "--transcript"]).code(0);
    assert_eq!(transcript(&shown), ["one", "1", "They spoke of one.", "two", "2"]);
}

#[test]
fn show_prints_api_error_without_counting_it() {
    let world = World::new();
    let error = json!({"type": "task_complete", "last_agent_message": null, "error": {"message": "overloaded"}});
    world.add(Codex::session(id(1)).prompt("one").record("event_msg", error));
    assert_eq!(counts(&only(&world)), (Some(1), Some(0)));
    let shown = world.rejoin(["show", &id(1), "--transcript"]).code(0);
    assert_eq!(transcript(&shown), ["one", "error: overloaded"]);
}

#[test]
fn resume_starts_in_directory_of_last_turn() {
    let world = World::new();
    let (here, there) = (world.dir("here"), world.dir("there"));
    world.add(Codex::session(id(1)).in_dir(&here).turn("one", "1").cd(&there).turn("two", "2"));
    let session = only(&world);
    assert_eq!((session.start_dir.as_deref(), session.last_dir.as_deref()), (here.to_str(), there.to_str()));
    let plan = plan(&world, [&id(1)]);
    assert_eq!(plan.launch_dir.map(|dir| dir.source).as_deref(), Some("last-turn"));
    assert_eq!(plan.resume.dir.as_deref(), there.to_str());
    assert_eq!(plan.resume.argv, ["codex", "resume", &id(1)]);
    assert!(plan.refusals.is_empty());
}

#[test]
fn list_finds_directory_of_long_last_turn() {
    let (one, two) = ("/home/ana/one", "/home/ana/two");
    let quoted = r#"{"type":"turn_context","payload":{"cwd":"/elsewhere"}}"#;
    for (times, expected) in [(1, two), (60, two), (400, one)] {
        let mut session = Codex::session(id(1)).in_dir(one).turn("one", "1").cd(two).prompt("two");
        for _ in 0..times {
            session = session.tool(quoted, &"x".repeat(50_000));
        }
        assert_eq!(self::one(session).launch_path(), Some(expected), "{times}: within 16 MiB");
    }
}

#[test]
fn resume_passes_full_id_and_directory() {
    let world = World::new();
    world.install("codex", "");
    let app = world.dir("app");
    world.add(Codex::session(id(1)).in_dir(&app).turn("one", "1"));
    world.rejoin(["resume", "00000001"]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!(launch.argv, ["codex", "resume", &id(1)]);
    assert_eq!((launch.cwd.as_path(), launch.variable("PWD")), (app.as_path(), app.to_str()));

    // Without an option, `exec` requires a git repository, and it takes no directory.
    world.rejoin(["resume", "latest", "--prompt", "go on", "--", "--json"]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!(launch.argv, ["codex", "exec", "--skip-git-repo-check", "resume", &id(1), "--json", "go on"]);
    assert_eq!(launch.cwd, app);
    world.rejoin(["resume", "latest", "--prompt", "--help"]).code(0);
    assert_eq!(world.launched().expect("a launch").argv[5..], ["--", "--help"]);
}

#[test]
fn kind_follows_from_first_record_and_path() {
    let parent = id(9);
    let cases = [
        (Codex::session(id(1)).turn("x", "y"), Kind::Main, None),
        (Codex::session(id(1)).exec().turn("x", "y"), Kind::Exec, None),
        (Codex::session(id(1)).exec().fork_of(&parent).turn("x", "y"), Kind::Fork, Some(&parent)),
        (Codex::session(id(1)).fork_of(&parent), Kind::Fork, Some(&parent)),
        (Codex::session(id(1)).subagent_of(&parent).turn("x", "y"), Kind::Subagent, Some(&parent)),
        (Codex::session(id(1)).meta("source", json!({"subagent": "review"})).turn("x", "y"), Kind::Subagent, None),
        (Codex::session(id(1)).meta("parent_thread_id", json!(parent)).turn("x", "y"), Kind::Subagent, Some(&parent)),
        (Codex::session(id(1)).meta("source", json!({"custom": "x"})).turn("x", "y"), Kind::Main, None),
        (Codex::session(id(1)).exec().archived().turn("x", "y"), Kind::Archived, None),
        (Codex::session(id(1)), Kind::Empty, None),
    ];
    for (case, (fixture, kind, parent)) in cases.into_iter().enumerate() {
        let session = one(fixture);
        assert_eq!((session.kind, session.parent_id.as_ref()), (kind, parent), "case {case}");
    }
}

#[test]
fn migrated_subagent_keeps_its_messages() {
    let world = World::new();
    world.add(Codex::session(id(1)).in_dir("/usr/bin").turn("ask for help", "Done."));
    // The migration names the end of the rollout as the first ordinal after a copied history, of which there is none.
    let migrated =
        Codex::session(id(2)).in_dir("/usr/bin").subagent_of(&id(1)).meta("history_mode", json!("paginated"));
    world.add(migrated.meta("subagent_history_start_ordinal", json!(5)).turn("say hello", "Hello."));
    let shown: Details = world.rejoin(["show", &id(2), "--counts", "--json"]).code(0).json();
    let counts = (shown.session.first_prompt.as_deref(), shown.session.prompts, shown.session.replies);
    assert_eq!(counts, (Some("say hello"), Some(1), Some(1)));
}

#[test]
fn copied_history_does_not_change_session_id() {
    // Older forks and sub-agents contain their parent's records, including its first one.
    let parents = json!({"id": id(9), "cwd": "/home/ana/other", "source": "exec", "git": {"branch": "theirs"}});
    let session = Codex::session(id(1)).fork_of(&id(9)).record("session_meta", parents).turn("x", "y");
    let session = one(session);
    assert_eq!((session.kind, session.git_branch.as_deref()), (Kind::Fork, Some("main")));
    assert_eq!(session.start_dir.as_deref(), Some("/home/ana/app"));
    assert_eq!(session.health, ["missing-directory"]);
}

#[test]
fn last_recorded_git_branch_wins() {
    let later = json!({"id": id(1), "cwd": "/home/ana/app", "git": {"branch": "feature"}});
    let session = one(Codex::session(id(1)).turn("x", "y").record("session_meta", later));
    assert_eq!(session.git_branch.as_deref(), Some("feature"));
}

#[test]
fn huge_first_line_keeps_fields_before_instructions() {
    for bytes in [9_000, 90_000, 900_000, 3_000_000, 12_000_000] {
        let world = World::new();
        let app = world.dir("app");
        let session = Codex::session(id(1)).in_dir(&app).exec().fork_of(&id(9)).instructions(bytes);
        world.add(session.turn("one", "1").turn("two", "2"));
        let session = only(&world);
        assert_eq!((session.kind, session.first_prompt.as_deref()), (Kind::Fork, Some("one")), "{bytes}");
        assert_eq!((session.launch_path(), session.start_dir.as_deref()), (app.to_str(), app.to_str()), "{bytes}");
        assert_eq!((session.created_at.as_deref(), counts(&session)), (Some(START), (Some(2), Some(2))), "{bytes}");
        assert!(session.health.is_empty() && session.resumable, "{bytes}: {:?}", session.health);
        // A title other than the prompt would be a name; the session has none.
        assert_eq!(session.title, None);
    }
}

#[test]
fn huge_first_line_needs_little_memory() {
    let world = World::new();
    world.add(
        Codex::session(id(1)).instructions(if tries_every_case() { 150_000_000 } else { 70_000_000 }).turn("one", "1"),
    );
    let (answer, peak) = world.measured(["list", "--json"]);
    assert_eq!(answer.code(0).sessions()[0].kind, Kind::Main);
    assert!((1..MAX_KIB).contains(&peak), "{peak} KiB");
}

#[test]
fn compressed_rollout_reads_like_plain() {
    let session = |packed: bool| {
        let world = World::new();
        let app = world.dir("app");
        let fixture = Codex::session(id(1)).in_dir("/home/ana/old").turn("one", "1").cd(&app).turn("two", "2");
        let path = world.add(if packed { fixture.packed() } else { fixture });
        let session = only(&world);
        assert_eq!(session.size_bytes, Some(path.metadata().expect("metadata").len()));
        let shown = world.rejoin(["show", &id(1), "--transcript"]).code(0).stdout();
        assert_eq!(plan(&world, [&id(1)]).resume.dir.as_deref(), app.to_str());
        let facts =
            (counts(&session), session.first_prompt.clone(), session.start_dir.clone(), session.active_at.clone());
        (facts, session.kind, session.git_branch.clone(), shown)
    };
    assert_eq!(session(true), session(false));
}

#[test]
fn plain_rollout_takes_precedence_over_compressed() {
    let world = World::new();
    let long = Codex::session(id(1)).turn("one", "1").turn("two", "2");
    let packed = world.add(long.clone().packed());
    let plain = world.add(Codex::session(id(1)).turn("one", "1"));
    let session = only(&world);
    assert_eq!(session.copies.len(), 1);
    assert_eq!(
        (session.copies[0].path.as_str(), counts(&session)),
        (plain.to_str().expect("a path"), (Some(1), Some(1)))
    );
    let bytes = |path: &Path| path.metadata().expect("metadata").len();
    assert_eq!(session.size_bytes, Some(bytes(&plain) + bytes(&packed)), "both go where it goes");
}

#[test]
fn list_reports_truncated_compressed_rollout() {
    let world = World::new();
    // Text without repetitions, so that compression makes more than one block of it.
    let text: String = (0_u64..20_000).map(|n| format!("{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let path = world.add(Codex::session(id(1)).turn("one", &text).packed());
    let bytes = std::fs::read(&path).expect("a file");
    put(&path, &bytes[..bytes.len() - 8]);
    let session = only(&world);
    assert_eq!(session.first_prompt.as_deref(), Some("one"));
    assert!(session.health.iter().any(|code| code == "torn-transcript"), "{:?}", session.health);
    put(&path, "not packed");
    let list: SessionList = world.rejoin(["list", "--all", "--json"]).code(0).json();
    assert!(list.sessions.is_empty());
    assert_eq!(list.problems.len(), 1);
    assert_eq!(list.problems[0].path, path.to_str().expect("a path"));
}

#[test]
fn list_hides_archived_session_and_resume_refuses_it() {
    let world = World::new();
    world.add(Codex::session(id(1)).in_dir(world.dir("app")).archived().turn("one", "1"));
    assert!(world.rejoin(["list", "--json"]).code(0).sessions().is_empty());
    let session = only(&world);
    assert!(!session.resumable && session.health.is_empty(), "{:?}", session.health);
    let refused = world.rejoin(["resume", &id(1), "--json"]).code(7);
    assert!(refused.error().message.contains(&format!("`codex unarchive {}`", id(1))), "{}", refused.error().message);
}

#[test]
fn resume_prefers_active_copy_to_archived_one() {
    for packed in [false, true] {
        let world = World::new();
        let app = world.dir("app");
        let session = Codex::session(id(1)).in_dir(&app).turn("one", "1");
        let active = world.add(session.clone());
        let archived = session.clone().archived();
        world.add(if packed { archived.packed() } else { archived });
        let same = only(&world);
        assert_eq!((same.kind, same.copies.len()), (Kind::Main, 2));
        assert_eq!(same.copies[0].path, active.to_str().expect("a path"));
        assert_eq!(same.copies[0].why.as_deref(), Some("it is the only copy that is not archived"));
        assert_eq!(same.health, ["duplicate-session"]);
        let shown: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
        assert_eq!(shown.session.copies[1].compared, Some(Compared::Identical));

        // Codex would report the session as archived, even if it continued before that.
        let longer = session.turn("two", "2").archived();
        world.add(if packed { longer.packed() } else { longer });
        let plan = plan(&world, [&id(1)]);
        assert_eq!((plan.path.as_deref(), plan.resume.dir.as_deref()), (active.to_str(), app.to_str()));
        let shown: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
        assert_eq!(shown.session.copies[1].compared, Some(Compared::Longer));
    }
}

#[test]
fn codex_home_variable_moves_the_store() {
    let world = World::new();
    world.install("codex", "");
    let (app, root) = (world.dir("app"), world.dir("codex-home"));
    world.add(Codex::session(id(1)).in_dir(&app).turn("one", "1"));
    world.add(Codex::session(id(2)).in_dir(&app).in_codex_home(&root).turn("two", "2"));
    let run = |args: &[&str]| world.with("CODEX_HOME", &root).rejoin(args).code(0);
    assert_eq!(run(&["list", "--json"]).sessions().len(), 2);
    run(&["resume", &id(2)]);
    assert_eq!(world.launched().expect("a launch").variable("CODEX_HOME"), root.to_str());
    // The default store is not the one that the variable names.
    run(&["resume", &id(1)]);
    assert_eq!(world.launched().expect("a launch").variable("CODEX_HOME"), None);
    let home = world.home();
    let named = run(&["--home", home.to_str().expect("a path"), "list", "--json"]);
    assert_eq!(named.sessions().len(), 1, "a home that was named has its own store only");
}

#[test]
fn list_finds_rollouts_anywhere_in_store() {
    let world = World::new();
    for (n, folder) in [(1, "sessions"), (2, "sessions/2026"), (3, "sessions/2025/12/31")] {
        world.add(Codex::session(id(n)).in_folder(folder).turn("x", "y"));
        world.rejoin(["show", &id(n)]).code(0);
    }
    let sessions = world.home().join(".codex/sessions");
    put(&sessions.join("2026/02/01/notes.jsonl"), "{}");
    put(&sessions.join("2026/02/01/rollout-2026-02-01T10-00-00.jsonl"), "{}");
    put(&sessions.join(format!("2026/02/01/rollout-compress-{}.tmp", id(4))), "{}");
    put(&sessions.join(format!("2026/02/01/x/rollout-{}.jsonl", id(5))), "{}");
    assert_eq!(listed(&world).len(), 3);

    std::fs::create_dir_all(sessions.join("2026/02/02")).expect("a directory");
    let link = sessions.join(format!("2026/02/02/rollout-2026-02-02T10-00-00-{}.jsonl", id(6)));
    std::os::unix::fs::symlink("/dev/zero", &link).expect("a link");
    let fifo = link.with_file_name(format!("rollout-2026-02-02T10-00-00-{}.jsonl", id(7)));
    make_fifo(&fifo);
    let answer = world.rejoin(["list", "--all", "--json"]).code(0);
    assert_eq!(answer.sessions().len(), 3);
    assert!(answer.stdout().contains("it is not a regular file"), "{}", answer.stdout());
}

#[test]
fn list_survives_records_of_any_type() {
    let values = ["null", "7", "true", "\"x\"", "[]", "{}", "[[1]]", "{\"a\":[null]}"];
    let mut session = Codex::session(id(1)).turn("one", "1");
    for value in values {
        session = session.line(value);
        for kind in ["session_meta", "turn_context", "event_msg", "response_item", "compacted", "\u{fffd}"] {
            session = session.line(format!(r#"{{"timestamp":{value},"type":"{kind}","payload":{value}}}"#));
            for inner in ["user_message", "item_completed", "message", "function_call", "task_complete"] {
                session = session.line(format!(
                    r#"{{"type":"{kind}","payload":{{"type":"{inner}","role":{value},"content":{value},"message":{value},"item":{value},"cwd":{value},"model":{value},"error":{value},"output":{value},"arguments":{value},"id":{value},"git":{value},"source":{value}}}}}"#
                ));
            }
        }
    }
    let world = World::new();
    world.add(session.line("{\"half").line("\u{feff}{}").turn("two", "2"));
    let session = only(&world);
    assert_eq!((session.first_prompt.as_deref(), session.launch_path()), (Some("one"), Some("/home/ana/app")));
    assert!(session.health.iter().any(|code| code == "bad-lines"), "{:?}", session.health);
    world.rejoin(["show", &id(1), "--transcript"]).code(0);
}

#[test]
fn resume_refuses_a_rollout_without_its_first_record() {
    for text in ["", "\n", "{", "[]", "null", "{}", "{\"type\":\"event_msg\",\"payload\":{}}\n", "\u{0}\u{0}\u{0}"] {
        let world = World::new();
        let path = world.add(Codex::session(id(1)));
        put(&path, text);
        world.add(Codex::session(id(2)).turn("x", "y"));
        let sessions = listed(&world);
        assert_eq!(sessions.len(), 2, "{text:?}");
        let broken = sessions.iter().find(|session| session.id == id(1)).expect("a session");
        assert!(!broken.resumable && broken.health.iter().any(|code| code == "missing-fields"), "{:?}", broken.health);
    }
    let world = World::new();
    world.add(Codex::session(id(1)).in_dir(world.dir("app")).bare().turn("x", "y"));
    world.rejoin(["resume", &id(1), "--json"]).code(7);
}

#[test]
fn list_reports_torn_end_and_wrong_id() {
    let session = one(Codex::session(id(1)).turn("one", "1").reply("cut").torn());
    assert!(session.health.iter().any(|code| code == "torn-transcript"), "{:?}", session.health);
    let session = one(Codex::session(id(1)).meta("id", json!(id(2))).turn("one", "1"));
    assert_eq!(session.id, id(1));
    assert!(session.health.iter().any(|code| code == "invalid-content"), "{:?}", session.health);
}

#[test]
fn list_survives_malformed_session_index() {
    let world = World::new();
    world.add(Codex::session(id(1)).turn("one", "1"));
    let index = world.home().join(".codex/session_index.jsonl");
    let name = format!("{{\"id\":\"{}\",\"thread_name\":\"Named\"}}", id(1));
    put(
        &index,
        format!("\n7\n[]\n{{}}\n{{\"id\":7,\"thread_name\":[]}}\n{{\"id\":\"x\"\n{name}\n{{\"id\":\"{}\"", id(1)),
    );
    assert_eq!(only(&world).title.as_deref(), Some("Named"));
}

/// Facts that Codex's database adds to the rollouts.
#[cfg(feature = "sqlite")]
mod database {
    use super::*;
    use crate::fixtures::CodexThreads;

    fn titles(world: &World) -> Vec<Option<String>> {
        let mut sessions = listed(world);
        sessions.sort_by(|a, b| a.id.cmp(&b.id));
        sessions.into_iter().map(|session| session.title).collect()
    }

    #[test]
    fn title_comes_from_database_then_index() {
        let world = World::new();
        for n in 1..=4 {
            world.add(Codex::session(id(n)).turn("one", "1"));
        }
        world.add(CodexNames(&[(&id(1), "Older"), (&id(2), "Only here")]));
        let rows = [(&*id(1), Some("Newer"), "/x"), (&id(2), None, "/x"), (&id(3), Some("Only there"), "/x")];
        let path = world.add(CodexThreads::of(rows));
        let expected = ["Newer", "Only here", "Only there"].map(|name| Some(name.to_owned()));
        assert_eq!(titles(&world)[..3], expected);
        assert_eq!(titles(&world)[3], None, "the first prompt is no name");
        // The highest number is the database of today.
        world.add(CodexThreads { name: "state_10.sqlite", ..CodexThreads::of([(&id(1), Some("Newest"), "/x")]) });
        assert_eq!(titles(&world)[0].as_deref(), Some("Newest"));
        let beside: Vec<_> = std::fs::read_dir(path.parent().expect("a directory")).expect("a listing").collect();
        assert_eq!(beside.len(), 4, "sessions, index, two databases, and nothing that was left behind");
    }

    #[test]
    fn old_database_title_differs_from_prompt() {
        let world = World::new();
        (1..=3).for_each(|n| drop(world.add(Codex::session(id(n)).turn("one", "1"))));
        let rows = [(&*id(1), "Tests", "add a test"), (&id(2), "add a test", "add a test\nplease"), (&id(3), "", "x")];
        world.add(CodexThreads::without_names(rows));
        assert_eq!(titles(&world), [Some("Tests".to_owned()), None, None]);
    }

    #[test]
    fn search_finds_prompt_of_session_that_only_the_list_has() {
        let world = World::new();
        world.add(CodexThreads::of([(&id(1), Some("Crane plan"), "/usr/bin"), (&id(2), None, "/usr/bin")]));
        world.add(Codex::session(id(2)).in_dir("/usr/bin").turn("the first prompt", "Done."));
        // The rollouts of a month were removed by hand (openai/codex 44947, 21196).
        let found = world.rejoin(["search", "crane", "--json"]).code(0).json::<crate::contract::search::Search>();
        assert_eq!(
            found.deleted.iter().map(|one| (one.id.as_str(), one.dir.as_deref())).collect::<Vec<_>>(),
            [(&*id(1), Some("/usr/bin"))]
        );
        let report = world.rejoin(["doctor", "--check", "gone-session", "--all-findings"]).code(0).stdout();
        assert!(report.contains(&id(1)) && !report.contains(&id(2)), "{report}");
    }

    #[test]
    fn database_directory_is_only_a_fallback() {
        let world = World::new();
        let long = |session: Codex| (0..60).fold(session, |session, _| session.tool("x", &"y".repeat(50_000)));
        world.add(Codex::session(id(1)).in_dir("/home/ana/one").turn("one", "1"));
        world.add(long(Codex::session(id(2)).in_dir("/home/ana/one").turn("one", "1").prompt("two")));
        world.add(CodexThreads::of([(&id(1), None, "/home/ana/row"), (&id(2), None, "/home/ana/row")]));
        let mut sessions = listed(&world);
        sessions.sort_by(|a, b| a.id.cmp(&b.id));
        let dirs: Vec<_> = sessions.iter().map(|session| (session.launch_path(), session.launch_source())).collect();
        assert_eq!(dirs[0], (Some("/home/ana/one"), Some("last-turn")));
        assert_eq!(dirs[1], (Some("/home/ana/row"), Some("threads")));
        assert_eq!(sessions[1].start_dir.as_deref(), Some("/home/ana/one"));
    }

    /// Creates two files with the same messages, of two days.
    fn two_of_one(world: &World) -> [PathBuf; 2] {
        ["sessions/2026/02/01", "sessions/2027/01/05"]
            .map(|folder| world.add(Codex::session(id(1)).in_dir(world.dir("app")).turn("one", "1").in_folder(folder)))
    }

    #[test]
    fn listed_file_wins_between_equal_files() {
        for listed_at in [0, 1] {
            let world = World::new();
            let files = two_of_one(&world);
            world.add(CodexThreads::naming(&id(1), &files[listed_at]));
            let details: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
            assert_eq!(
                details.session.copies[0].why.as_deref(),
                Some("it is the only copy that its agent's own list names")
            );
            assert_eq!(Path::new(&details.session.copies[0].path), files[listed_at]);
            world.rejoin(["doctor", "--fix", "--yes"]).code(0);
            assert_eq!(files.map(|file| file.exists()), [listed_at == 0, listed_at == 1]);
            assert_eq!(plan(&world, [&id(1)]).id, Some(id(1)));
        }
    }

    #[test]
    fn doctor_removes_no_open_copy_with_any_checks() {
        for check in [&["--check", "duplicate-session"][..], &[]] {
            let world = World::new().with_processes();
            let files = ["sessions/2026/02/01", "sessions/2027/01/05"].map(|folder| {
                let session = Codex::session(id(1)).in_old_words().in_dir(world.dir("app")).turn("one", "1");
                world.add(session.in_folder(folder))
            });
            world.add(CodexThreads::naming(&id(1), &files[0]));
            let fix: Vec<&str> = ["doctor", "--fix", "--yes"].iter().chain(check).copied().collect();
            let open = std::fs::File::options().append(true).open(&files[1]).expect("a file");
            world.rejoin(&fix);
            world.rejoin(["delete", &id(1), "--copy", "2", "--yes"]).code(7);
            assert_eq!(files.each_ref().map(|file| file.exists()), [true, true], "{check:?}");
            drop(open);
            world.rejoin(&fix);
            assert_eq!(files.each_ref().map(|file| file.exists()), [true, false], "{check:?}");
        }
    }

    #[test]
    fn listed_file_wins_and_longer_file_stays() {
        let world = World::new();
        let short = Codex::session(id(1)).turn("one", "1");
        let short = world.add(short.in_folder("sessions/2026/02/01"));
        let long = Codex::session(id(1)).turn("one", "1").turn("two", "2");
        let long = world.add(long.in_folder("sessions/2027/01/05"));
        world.add(CodexThreads::naming(&id(1), &short));
        let details: Details = world.rejoin(["show", &id(1), "--json"]).code(0).json();
        assert_eq!(Path::new(&details.session.copies[0].path), short, "Codex would go on with this one");
        world.rejoin(["doctor", "--fix", "--yes"]).code(4);
        assert!(short.exists() && long.exists());
    }

    #[test]
    fn doctor_reports_stale_list_with_repair_command() {
        let world = World::new();
        let app = world.dir("app");
        world.add(Codex::session(id(1)).in_dir(&app).turn("one", "1"));
        let former = Path::new("/srv/former/.codex/sessions/2026/02/01/rollout-2026-02-01T10-00-00-x.jsonl");
        world.add(CodexThreads::naming(&id(1), former));
        assert_eq!(only(&world).health, ["unlisted"]);
        let warned = world.rejoin(["resume", &id(1), "--print"]).code(0);
        assert!(warned.stderr().contains("the agent does not find it"), "{}", warned.stderr());
        let root = world.home().join(".codex");
        let command = format!("mkdir -p {0}/former && mv {0}/state_*.sqlite* {0}/former/", root.display());
        let found = world.rejoin(["doctor", "--check", "unlisted"]).code(4);
        assert!(found.stdout().contains(&command) && found.stdout().starts_with("warning"), "{}", found.stdout());
        // In a backup, the paths in the list are not valid.
        let home = world.home();
        let home = home.to_str().expect("a path in Unicode");
        assert_eq!(world.rejoin(["--home", home, "list", "--json"]).code(0).sessions()[0].health, Vec::<String>::new());
        world.from(&app).run("sh", ["-c", &command]).code(0);
        world.rejoin(["doctor"]).code(0);
        assert_eq!(plan(&world, [&id(1)]).id, Some(id(1)));
    }

    #[test]
    fn database_path_may_differ_by_link_or_compression() {
        let world = World::new();
        let path = world.add(Codex::session(id(1)).turn("one", "1").packed());
        let linked = world.root().join("linked");
        std::os::unix::fs::symlink(world.home(), &linked).expect("a link");
        let inside = path.strip_prefix(world.home()).expect("a file of the home");
        // A rollout that was compressed since, or is found through a link.
        for file in [path.with_extension(""), linked.join(inside)] {
            let database = world.add(CodexThreads::naming(&id(1), &file));
            assert!(!only(&world).health.contains(&"unlisted".to_owned()), "{}", file.display());
            std::fs::remove_file(database).expect("a database less");
        }
    }

    #[test]
    fn list_reports_unknown_database_schema() {
        let world = World::new();
        world.add(Codex::session(id(1)).turn("one", "1"));
        let of = |columns| CodexThreads { columns, rows: Vec::new(), ..CodexThreads::of([]) };
        let path = world.home().join(".codex/state_5.sqlite");
        for columns in ["id", "id, name", "id, title"] {
            world.add(of(columns));
            assert_eq!(listed(&world).len(), 1, "{columns}");
            std::fs::remove_file(&path).expect("a database less");
        }
        world.add(CodexThreads { rows: vec![vec![None; 5]], ..CodexThreads::of([]) });
        assert_eq!(listed(&world).len(), 1);
        std::fs::remove_file(&path).expect("a database less");
        for break_it in [|path: &Path| put(path, "not a database"), |path: &Path| put(path, "")] {
            break_it(&path);
            let list: SessionList = world.rejoin(["list", "--all", "--json"]).code(0).json();
            assert_eq!((list.sessions.len(), list.problems.len()), (1, 1));
            assert_eq!(list.problems[0].path, path.to_str().expect("a path"));
        }
        std::fs::remove_file(&path).expect("a database less");
        world.add(of("thread"));
        let list: SessionList = world.rejoin(["list", "--all", "--json"]).code(0).json();
        assert!(list.problems[0].reason.contains("no column id"), "{}", list.problems[0].reason);
    }

    #[test]
    fn environment_variable_moves_the_database() {
        let world = World::new();
        world.add(Codex::session(id(1)).turn("one", "1"));
        let path = world.add(CodexThreads::of([(&id(1), Some("Elsewhere"), "/x")]));
        let dir = world.dir("databases");
        std::fs::rename(&path, dir.join("state_5.sqlite")).expect("a move");
        assert_eq!(titles(&world), [None]);
        let sessions = world.with("CODEX_SQLITE_HOME", &dir).rejoin(["list", "--json"]).code(0).sessions();
        assert_eq!(sessions[0].title.as_deref(), Some("Elsewhere"));
    }
}

/// A lock that this process holds as Codex does, until it is dropped.
pub(crate) struct Holder(std::fs::File);

impl Holder {
    pub(crate) fn of(path: &Path) -> Self {
        put(path, "");
        let file = std::fs::File::open(path).expect("a file");
        file.lock().expect("a lock that is free");
        Self(file)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // Another test may start a child now, which would inherit the file and keep it open.
        self.0.unlock().expect("an end");
    }
}

pub(crate) fn lock(world: &World, id: &str) -> PathBuf {
    world.home().join(format!(".codex/thread-writer-locks/{id}.lock"))
}

#[test]
fn held_lock_makes_session_live() {
    let world = World::new();
    world.install("codex", "");
    world.add(Codex::session(id(1)).in_dir(world.dir("app")).turn("one", "1"));
    put(&lock(&world, &id(1)), "");
    put(&lock(&world, &id(2)), "");
    put(&lock(&world, ".coordination"), "");
    assert_eq!(only(&world).liveness, Liveness::Idle, "a kill leaves the file");

    let holder = Holder::of(&lock(&world, &id(1)));
    assert_eq!(only(&world).liveness, Liveness::Live);
    let refused = world.rejoin(["resume", &id(1)]).code(7);
    assert!(refused.stderr().contains(&format!("in use by process {}", std::process::id())), "{}", refused.stderr());
    assert!(world.launched().is_none());
    world.rejoin(["resume", &id(1), "--force"]).code(0);
    assert!(world.launched().is_some());
    drop(holder);
    assert_eq!(only(&world).liveness, Liveness::Idle);
    assert!(lock(&world, &id(1)).exists(), "nothing is cleaned up");
}

#[test]
fn resume_joins_background_process_only_at_terminal() {
    let world = World::new();
    world.install("codex", "");
    world.add(Codex::session(id(1)).in_dir(world.dir("app")).turn("one", "1"));
    let _holder = Holder::of(&lock(&world, &id(1)));
    let daemon = world.home().join(".codex/app-server-daemon/daemon.pid");
    for text in ["7", "{\"pid\":\"x\"}", "{\"pid\":1}", "[]", "{"] {
        put(&daemon, text);
        world.rejoin(["resume", &id(1)]).code(7);
    }
    // Another process may have the same id now.
    put(&daemon, json!({"pid": std::process::id(), "processIdentity": {"startTicks": 1}}).to_string());
    world.rejoin(["resume", &id(1)]).code(7);
    put(&daemon, json!({"pid": std::process::id()}).to_string());
    assert_eq!(only(&world).liveness, Liveness::Live);
    let refused = world.rejoin(["resume", &id(1), "--prompt", "go on"]).code(7);
    assert!(refused.stderr().contains("background process"), "{}", refused.stderr());
    assert!(world.launched().is_none());
    world.rejoin(["resume", &id(1)]).code(0);
    assert!(world.launched().is_some());
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "needs strace")]
fn check_does_not_take_lock() {
    use std::os::unix::fs::MetadataExt as _;
    // In a separate namespace, the system's table does not list every lock, so locks are tested.
    let is_whole = std::fs::metadata("/proc/self/ns/pid").is_ok_and(|ns| ns.ino() == 0xEFFF_FFFC);
    if !is_whole || !crate::survival::has_strace() {
        return;
    }
    let world = World::new();
    world.add(Codex::session(id(1)).turn("one", "1"));
    put(&lock(&world, &id(1)), "");
    let (answer, trace) = world.from(world.root()).under_strace(&["trace=flock,fcntl"], &["list", "--all"]);
    answer.code(0);
    assert!(!trace.lines().any(|line| line.contains("thread-writer-locks") && line.contains("LOCK")), "{trace}");
}

#[test]
fn open_rollout_without_lock_means_live() {
    let world = World::new().with_processes();
    let path = world.add(Codex::session(id(1)).in_old_words().in_dir(world.dir("app")).turn("one", "1"));
    let open = std::fs::File::options().append(true).open(&path).expect("a file");
    let refused = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!(refused.refusals[0].code, "live");
    drop(open);
    assert!(plan(&world, [&id(1)]).refusals.is_empty());
}

#[test]
fn commands_write_nothing_to_the_store() {
    let world = World::new();
    world.add(Codex::session(id(1)).in_dir(world.dir("app")).turn("one", "1"));
    world.add(Codex::session(id(1)).archived().turn("one", "1").packed());
    world.add(CodexNames(&[(&id(1), "Name")]));
    put(&lock(&world, &id(1)), "");
    let state = || {
        let entries = walkdir::WalkDir::new(world.home().join(".codex")).sort_by_file_name();
        let entries = entries.into_iter().map(|entry| {
            let entry = entry.expect("an entry");
            let metadata = entry.metadata().expect("metadata");
            (entry.path().to_owned(), metadata.len(), metadata.modified().expect("a time"))
        });
        entries.collect::<Vec<_>>()
    };
    let before = state();
    listed(&world);
    world.rejoin(["show", &id(1), "--transcript"]).code(0);
    plan(&world, [&id(1)]);
    assert_eq!(state(), before);
}

const SEGMENT: &str = "01a219ed-6272-7800-abe1-2fe326b863ec";

/// Writes a thread of three turns that was rewound to its first one, and continued in a segment; returns its rollouts.
fn rewound(world: &World) -> [PathBuf; 2] {
    let base = world.add(
        Codex::session(id(1)).in_dir("/usr/bin").turn("first", "one").turn("second", "two").turn("later", "three"),
    );
    let elsewhere = world.dir("elsewhere/parts");
    let start = Codex::session(id(1)).in_dir("/usr/bin").turn("first", "one").write_to(&elsewhere);
    let end = start.metadata().expect("a file").len();
    assert_eq!(std::fs::read(&base).expect("a file")[..end as usize], std::fs::read(&start).expect("a file"));
    let history = json!({"thread_id": id(1), "end_ordinal_exclusive": 5, "end_byte_offset": end});
    let segment = Codex::session(id(1)).in_dir("/usr/bin").meta("history_base", history).turn("fourth", "four");
    let written = segment.write_to(&elsewhere);
    let path = base.with_file_name(format!("rollout-2026-02-01T11-00-00-{}_{SEGMENT}.jsonl", id(1)));
    std::fs::rename(written, &path).expect("a move");
    [base, path]
}

#[test]
fn rewound_thread_is_one_session() {
    let world = World::with_agents();
    let files = rewound(&world);
    let listed = world.rejoin(["list", "--all", "--json"]).code(0).sessions();
    assert_eq!(listed.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), [id(1)]);
    assert!(listed[0].health.is_empty(), "{:?}", listed[0].health);
    assert_eq!(listed[0].first_prompt.as_deref(), Some("first"));
    let stdout = world.rejoin(["show", &id(1), "--transcript"]).code(0).stdout();
    assert!(stdout.contains("first") && stdout.contains("four") && !stdout.contains("second"), "{stdout}");
    let shown: Details = world.rejoin(["show", &id(1), "--counts", "--json"]).code(0).json();
    assert_eq!((shown.session.prompts, shown.session.replies), (Some(2), Some(2)));
    let other = world.rejoin(["show", &id(1), "--transcript", "--branch", "2"]).code(0).stdout();
    assert!(other.contains("second") && other.contains("three") && !other.contains("fourth"), "{other}");
    let found = world.rejoin(["search", "later", "--json"]).code(0).stdout();
    assert!(found.contains("\"branch\":2"), "{found}");
    // doctor takes the first part for a file of the session, not for one that may be moved away.
    let report = world.rejoin(["doctor", "--all-findings"]).code(0).stdout();
    assert!(report.contains("No problems found"), "{report}");
    // All parts are archived, removed and restored together.
    world.rejoin(["archive", &id(1)]).code(0);
    world.rejoin(["delete", &id(1), "--yes"]).code(0);
    assert!(files.iter().all(|file| !file.exists()));
    world.rejoin(["restore", &id(1)]).code(0);
    assert_eq!(world.rejoin(["show", &id(1), "--transcript"]).code(0).stdout(), stdout);
    // doctor repairs the last part, and not one that is continued at an offset.
    for (at, is_repaired) in [(0, false), (files.len() - 1, true)] {
        let damaged = [std::fs::read(&files[at]).expect("a rollout"), b"\0\0\0\n".to_vec()].concat();
        std::fs::write(&files[at], &damaged).expect("a rollout");
        world.rejoin(["doctor", "--fix", "--yes"]);
        assert_eq!(std::fs::read(&files[at]).expect("a rollout") != damaged, is_repaired);
    }
    // The missing part is named.
    std::fs::remove_file(&files[0]).expect("a removal");
    let stdout = world.rejoin(["show", &id(1)]).code(0).stdout();
    assert!(stdout.contains("the rollout that it continues") && stdout.contains("is missing"), "{stdout}");
}

#[test]
fn delete_removes_no_parent_before_its_fork() {
    let world = World::with_agents();
    let base = world.add(Codex::session(id(1)).in_dir("/usr/bin").turn("first", "one").turn("second", "two"));
    let history = json!({"thread_id": id(1), "end_ordinal_exclusive": 9, "end_byte_offset": base.metadata().expect("a file").len()});
    let fork = Codex::session(id(2)).in_dir("/usr/bin").fork_of(&id(1)).meta("history_base", history);
    let fork = world.add(fork.turn("fork it", "forked"));
    let stdout = world.rejoin(["show", &id(2), "--transcript"]).code(0).stdout();
    assert!(stdout.contains("second") && stdout.contains("forked"), "{stdout}");
    let refused = world.rejoin(["delete", &id(1), "--yes"]).code(7).stderr();
    assert!(refused.contains(&format!("codex session {} continues it and needs its files", id(2))), "{refused}");
    // A later version may refer to the part in another form.
    let text = std::fs::read_to_string(&fork).expect("a rollout");
    std::fs::write(&fork, text.replace("end_byte_offset", "bytes")).expect("a rollout");
    let shown = world.rejoin(["show", &id(2), "--counts"]).code(0).stdout();
    assert!(shown.contains("does not name the part that it continues in a known form"), "{shown}");
    world.rejoin(["delete", &id(1), "--yes"]).code(7);
    std::fs::write(&fork, text).expect("a rollout");
    world.rejoin(["pin", &id(2)]).code(0);
    world.rejoin(["cleanup", "--older-than", "1d", "--yes", "--allow-all"]).code(0);
    assert!(base.exists() && fork.exists());
    world.rejoin(["pin", "--remove", &id(2)]).code(0);
    // The fork is archived with the part of its parent that it needs.
    world.rejoin(["archive", &id(2)]).code(0);
    world.rejoin(["delete", &id(1), &id(2), "--yes"]).code(0);
    assert!(!base.exists() && !fork.exists());
    world.rejoin(["restore", &id(2)]).code(0);
    assert_eq!(world.rejoin(["show", &id(2), "--transcript"]).code(0).stdout(), stdout);
}
