//! Stuck conversations, and `rewind`, which creates a new session from their good part.

use serde_json::{Value, json};

use crate::contract::changes::{Change, ChangeResult};
use crate::contract::{Details, DoctorReport};
use crate::fixtures::{Claude, Codex, Copilot, Gptme, OpenCode, Pi, Qwen, id, opencode_id, put};
use crate::picker::open;
use crate::world::World;

/// Adds a prompt and an error of the API in place of its reply, as Claude Code writes them.
fn refused(session: Claude, prompt: &str, error: &str) -> Claude {
    let message =
        json!({"id": "e", "model": "<synthetic>", "role": "assistant", "content": [{"type": "text", "text": error}]});
    session.prompt(prompt).message("assistant", &message, &json!({"isApiErrorMessage": true}))
}

fn stuck() -> Claude {
    let session =
        Claude::session(id(1)).in_dir("/usr").chained().turn("explain it", "It has two queues.").title("Queues");
    refused(refused(session, "and then?", "API Error: 400 bad thinking"), "continue", "API Error: 400 bad thinking")
}

fn world() -> World {
    let world = World::with_agents();
    put(&world.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 3650}"#);
    world
}

fn report(world: &World) -> DoctorReport {
    world.rejoin(["doctor", "--json"]).json()
}

#[test]
fn doctor_and_show_report_a_stuck_conversation() {
    let world = world();
    world.add(stuck());
    let findings = report(&world).findings;
    assert_eq!(findings.iter().map(|finding| finding.code.as_str()).collect::<Vec<_>>(), ["stuck-session"]);
    let evidence = &findings[0].evidence;
    assert!(
        evidence.contains("The last 2 replies of claude session") && evidence.contains("400 bad thinking"),
        "{evidence}"
    );
    assert_eq!(findings[0].remedies[0].command, format!("rejoin rewind claude:{}", id(1)));
    let shown: Details = world.rejoin(["show", &id(1), "-m", "4", "--json"]).code(0).json();
    assert!(
        shown.notes.iter().any(|note| note.starts_with("its last 2 replies are API errors that a retry does not fix")),
        "{:?}",
        shown.notes
    );
    let errors: Vec<bool> = shown.messages.expect("messages").iter().map(|message| message.error).collect();
    assert_eq!(errors, [false, true, false, true]);
    // An error that a retry may fix is not reported, and neither is one that was fixed.
    for session in [
        refused(stuck(), "and now?", "API Error: 529 Overloaded"),
        refused(Claude::session(id(1)).in_dir("/usr").turn("a", "b"), "c", "API Error: 401 Please log in"),
        stuck().turn("and now?", "It works again."),
    ] {
        world.add(session);
        assert!(report(&world).findings.is_empty());
    }
}

#[test]
fn doctor_names_the_causes_in_the_transcript() {
    let world = world();
    let good = || Claude::session(id(1)).in_dir("/usr").chained().turn("explain it", "It has two queues.");
    let call = json!({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}});
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": ""});
    let image = json!({"type": "image", "source": {"type": "base64", "data": "A".repeat((5 << 20) + 4)}});
    let image = json!({"role": "user", "content": [image]});
    let error = "API Error: 400 Bad Request";
    for (session, expected) in [
        (
            refused(good().reply_block("m1", &call), "and?", error),
            "a usual cause: a tool call without a result (line 3).",
        ),
        (
            refused(good().reply_block("m1", &thinking), "and?", error),
            "a usual cause: a thinking block without its signature (line 3).",
        ),
        (
            refused(good().message("user", &image, &json!({})), "and?", error),
            "a usual cause: an image above the limit of the API, 5 MiB in base64 (line 3).",
        ),
        (
            refused(good().reply_block("m1", &thinking).reply_block("m1", &call), "and?", error),
            "usual causes: a thinking block without its signature (line 3); a tool call without a result (line 4).",
        ),
    ] {
        world.add(session);
        let finding = report(&world).findings.remove(0);
        assert!(finding.evidence.ends_with(expected), "{}", finding.evidence);
        assert!(finding.measured.starts_with("1 API error; a"), "{}", finding.measured);
    }
    // A lone surrogate is not text that a fixture can write.
    let path = world.add(refused(good(), "a HALF b", "API Error: 400 no low surrogate in string"));
    let text = std::fs::read_to_string(&path).expect("a transcript").replace("HALF", "\\ud83d");
    put(&path, text);
    let evidence = report(&world).findings.remove(0).evidence;
    assert!(evidence.ends_with("a lone surrogate, which is half of a character (line 3)."), "{evidence}");
    // The error names another part, the API accepted the part, or a record is unknown.
    let strange = json!({"type": "hologram"});
    for session in [
        refused(good().reply_block("m1", &call), "and?", "API Error: 400 prompt is too long"),
        refused(good().reply_block("m1", &call).reply("done"), "and?", error),
        refused(good().reply_block("m1", &call).reply_block("m1", &strange), "and?", error),
    ] {
        world.add(session);
        let findings = report(&world).findings;
        assert!(findings[0].evidence.ends_with("most likely fail."), "{}", findings[0].evidence);
    }
}

#[test]
fn doctor_detects_stuck_sessions_of_other_agents() {
    let world = world();
    let error = json!({"type": "task_complete", "last_agent_message": null,
        "error": {"message": "unexpected status 400 Bad Request", "codex_error_info": "bad_request"}});
    world.add(Codex::session(id(1)).in_dir("/usr").turn("a", "b").prompt("c").record("event_msg", error));
    let error =
        json!({"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "400 invalid_request_error"});
    world.add(Pi::session(id(2)).in_dir("/usr").turn("a", "b").prompt("c").message(&error));
    let error = "400 messages: the text cannot be modified";
    let data = json!({"errorType": "query", "message": error, "statusCode": 400});
    world.add(Copilot::session(id(3)).in_dir("/usr").turn("a", "b").prompt("c").event("session.error", &data));
    let data = json!({"uiEvent": {"event.name": "qwen-code.api_error", "error_message": error, "status_code": 400}});
    world.add(Qwen::session(id(4)).in_dir("/usr").turn("a", "b").prompt("c").system("ui_telemetry", &data));
    let mark = json!({"metadata": {"error": true, "error_class": "generic"}});
    world.add(Gptme::session("2026-02-01-one").in_dir("/usr").turn("a", "b").prompt("c").record("system", error, mark));
    let data =
        json!({"role": "assistant", "error": {"name": "APIError", "data": {"message": error, "statusCode": 400}}});
    let session = || OpenCode::session(opencode_id(1)).in_dir("/usr").turn("a", "b").prompt("c");
    world.add(session().message(data.clone(), Vec::new()));
    let found: Vec<_> = report(&world).findings.into_iter().filter(|finding| finding.code == "stuck-session").collect();
    let mut agents: Vec<_> = found.iter().map(|finding| finding.sessions[0].agent.to_string()).collect();
    agents.sort_unstable();
    assert_eq!(agents, ["codex", "copilot", "gptme", "opencode", "pi", "qwen"], "{found:?}");
    // A reply that the user stopped is not an error, and errors before a good reply do not count.
    let stopped =
        json!({"role": "assistant", "error": {"name": "MessageAbortedError", "data": {"message": "stopped"}}});
    for session in [session().message(stopped, Vec::new()), session().message(data, Vec::new()).turn("d", "e")] {
        world.add(session);
        assert!(
            report(&world)
                .findings
                .iter()
                .all(|finding| finding.sessions.iter().all(|session| session.agent.to_string() != "opencode"))
        );
    }
    for finding in found {
        assert!(finding.remedies.iter().all(|remedy| !remedy.command.contains("rewind")), "{finding:?}");
    }
    let refused = world.rejoin(["rewind", &format!("codex:{}", id(1)), "--json"]).code(7).error();
    assert_eq!(refused.code, "not-rewindable");
}

#[test]
fn list_marks_a_stuck_session() {
    let world = world();
    world.add(stuck());
    world.add(Claude::session(id(2)).in_dir("/usr").turn("a", "b"));
    let error =
        json!({"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "400 invalid_request_error"});
    world.add(Pi::session(id(3)).in_dir("/usr").turn("a", "b").prompt("c").message(&error));
    let data = json!({"role": "assistant",
        "error": {"name": "APIError", "data": {"message": "400 messages: cannot be modified", "statusCode": 400}}});
    world.add(OpenCode::session(opencode_id(4)).in_dir("/usr").turn("a", "b").prompt("c").message(data, Vec::new()));
    let expected = [id(1), id(3), opencode_id(4)];
    let ids = |args: &[&str]| {
        let mut ids: Vec<_> = world.rejoin(args).sessions().into_iter().map(|session| session.id.clone()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&["list", "is:stuck", "--json"]), expected);
    assert_eq!(ids(&["list", "!is:stuck", "--json"]), [id(2)]);
    let by_mark = world.rejoin(["list", "--fields", "id,marks"]).code(0).stdout();
    let marked: Vec<&str> = by_mark.lines().filter(|line| line.contains("stuck")).collect();
    assert_eq!(marked.len(), 3, "{by_mark}");
    let table = world.rejoin(["list", "--format", "table", "--wide"]).code(0).stdout();
    assert_eq!(table.matches("stuck").count(), 3, "{table}");
    assert!(world.on_terminal(80, ["list"]).code(0).stderr().contains("K stuck"));
    let shown: Details = world.rejoin(["show", "is:stuck agent:claude", "--json"]).code(0).json();
    assert_eq!(shown.session.id, id(1), "the filter names a session for every command");
    let found = world.rejoin(["search", "is:stuck", "c", "-a", "pi"]).code(0).stdout();
    assert!(found.contains(&id(3)), "{found}");
    let stderr = world.on_terminal(100, ["list", "is:stuck", "dir:nowhere"]).code(0).stderr();
    assert!(!stderr.contains("mark stuck"), "sessions have that mark: {stderr}");
    // A good reply ends the stuck state.
    world.add(stuck().turn("and now?", "It works again."));
    assert_eq!(ids(&["list", "is:stuck", "-a", "claude", "--json"]), [""; 0]);
}

#[test]
fn resume_warns_of_stuck_session_and_starts_it() {
    let world = world();
    world.add(stuck());
    let answer = world.rejoin(["resume", &id(1)]).code(0);
    let expected = format!(
        "warning: its last 2 replies are API errors that a retry does not fix, so a resume will most likely fail; \
         `rejoin rewind claude:{}` makes a new session up to its last good reply",
        id(1)
    );
    let stderr = answer.stderr();
    assert!(stderr.split_whitespace().collect::<Vec<_>>().join(" ").contains(&expected), "{stderr}");
    assert_eq!(world.launched().expect("a launch").argv[2], id(1));

    let mut seat = open(&world, 120, 24);
    seat.shows("1 of 1 session");
    seat.types("\r");
    let screen = seat.shows("makes a new session up to its last good reply");
    assert!(screen.contains(&format!("> rejoin rewind claude:{}", id(1))), "{screen}");
    seat.types("\x1b[B");
    seat.shows(&format!("> rejoin resume claude:{}", id(1)));
    seat.types("\r");
    assert_eq!(seat.ends().0, Some(0));
}

#[test]
fn briefing_of_stuck_session_has_last_good_exchange() {
    let world = world();
    world.install("codex", "");
    world.add(stuck());
    world.rejoin(["resume", &id(1), "--with", "codex"]).code(0);
    let launch = world.launched().expect("a launch");
    for part in [
        "## Last prompt of the user\n\n> explain it\n",
        "## Last reply of the agent\n\n> It has two queues.\n",
        "## Prompt of the user without a reply\n\n> and then?\n",
        "## Prompt of the user without a reply\n\n> continue\n",
        "## Error of the API at the end\n\n> API Error: 400 bad thinking\n",
    ] {
        assert!(launch.argv[1].contains(part), "{part}\n{}", launch.argv[1]);
    }
}

#[test]
fn rewind_copies_up_to_last_good_reply() {
    let world = world();
    let path = world.add(stuck());
    let before = std::fs::read(&path).expect("a transcript");
    let plan: Change = world.rejoin(["rewind", &id(1), "--dry-run", "--json"]).code(0).json();
    assert_eq!(world.rejoin(["list", "--json"]).sessions().len(), 1);
    let done: Change = world.rejoin(["rewind", &id(1), "--json"]).code(0).json();
    assert_eq!((done.verb.as_str(), done.items[0].result, done.ids()), ("rewind", ChangeResult::Done, plan.ids()));
    let new = done.items[0].id.clone().expect("an id");
    let shown: Details = world.rejoin(["show", &new, "-t", "--json", "--counts"]).code(0).json();
    let texts: Vec<String> = shown.messages.expect("messages").into_iter().map(|message| message.text).collect();
    assert_eq!(texts, ["explain it", "It has two queues."]);
    assert_eq!(shown.session.title.as_deref(), Some("Queues"));
    assert_eq!(std::fs::read(&path).expect("a transcript"), before, "the old session stays");

    // Every record equals that of the old session, except for the id of the session.
    let written = std::fs::read_to_string(path.with_file_name(format!("{new}.jsonl"))).expect("a transcript");
    let old = String::from_utf8(before).expect("text");
    let replaced =
        |line: &str| line.replace(&format!("\"sessionId\":\"{}\"", id(1)), &format!("\"sessionId\":\"{new}\""));
    let kept: Vec<&str> = written.lines().collect();
    assert!(
        old.lines().take(kept.len() - 1).map(replaced).eq(kept[..kept.len() - 1].iter().copied().map(str::to_owned))
    );
    let last: Value = serde_json::from_str(kept[kept.len() - 1]).expect("a record");
    assert_eq!((&last["type"], &last["leafUuid"]), (&"last-prompt".into(), &format!("{}-1", id(1)).into()));

    world.rejoin(["resume", &new]).code(0);
    assert_eq!(world.launched().expect("a launch").argv, ["claude", "--resume", &new]);
    let again = world.rejoin(["rewind", &id(1), "--json"]).code(7).error();
    assert_eq!(again.code, "exists");
    world.rejoin(["undo"]).code(0);
    assert_eq!(world.rejoin(["list", "--json"]).sessions().len(), 1);
}

#[test]
fn latest_prefers_rewound_to_stuck_session() {
    let world = world();
    world.add(stuck());
    world.add(Claude::session(id(2)).in_dir("/usr").at("2026-01-20T10:00:00Z").turn("a", "b"));
    let path = |args: &[&str]| world.rejoin(["show", "--path"].iter().chain(args)).code(0).stdout();
    assert!(path(&["latest"]).contains(&id(1)));
    let new = world.rejoin(["rewind", &id(1), "--quiet"]).code(0).stderr_eq("").stdout();
    let new = new.strip_suffix('\n').expect("a line");
    assert_eq!(new.len(), 36, "{new}");

    assert!(path(&["latest"]).contains(new), "the new session is meant");
    world.rejoin(["tag", &id(1), "+old"]).code(0);
    assert!(path(&["latest", "--tag", "old"]).contains(&id(1)), "but only if it passes the filters");
    assert!(report(&world).findings.is_empty(), "doctor does not warn on");
    let marked: Vec<_> = world.rejoin(["list", "is:rewound", "--json"]).sessions();
    assert_eq!(marked.iter().map(|session| &*session.id).collect::<Vec<_>>(), [new]);
    let continues = marked[0].continues.as_ref().expect("an origin");
    assert_eq!((continues.agent.to_string(), &*continues.id), ("claude".to_owned(), &*id(1)));
    let shown = |id: &str| world.rejoin(["show", id]).code(0).stdout();
    assert!(shown(new).contains(&format!("  continues     claude {}\n", id(1))), "{}", shown(new));
    assert!(shown(&id(1)).contains(&format!("  rewound as    claude {new}\n")), "{}", shown(&id(1)));

    // `latest` selects the old session again after a prompt in it, or after the rewind is undone.
    world.add(refused(stuck().at("2026-03-01T13:00:00Z"), "and?", "API Error: 400 bad"));
    let later = world.from(world.home()).with("REJOIN_NOW", "2026-03-01T14:00:00Z");
    assert!(later.rejoin(["show", "--path", "latest"]).code(0).stdout().contains(&id(1)));
    world.add(stuck());
    // The file of a later version is not parsed, so it is not a link.
    let links = world.home().join(".local/state/rejoin/links");
    let link = std::fs::read_dir(&links).expect("links").next().expect("a link").expect("an entry").path();
    let text = std::fs::read_to_string(&link).expect("a link");
    put(&link, text.replace("\"format_version\":1", "\"format_version\":2"));
    assert!(path(&["latest"]).contains(&id(1)) && !shown(&id(1)).contains("rewound as"));
    put(&link, text);
    world.rejoin(["undo", "--yes"]).code(0);
    world.rejoin(["undo", "--yes"]).code(0);
    assert!(path(&["latest"]).contains(&id(1)));
    assert!(!shown(&id(1)).contains("rewound as"));
    assert_eq!(report(&world).findings.len(), 1);
}

#[test]
fn rewind_accepts_message_number_or_branch() {
    let world = world();
    let session = Claude::session(id(1)).in_dir("/usr").chained().turn("one", "1").turn("two", "2");
    world.add(session.back_to(2).turn("three", "3"));
    let texts = |args: &[&str]| {
        let done: Change = world.rejoin(["rewind", &id(1), "--json"].iter().chain(args)).code(0).json();
        let new = done.items[0].id.clone().expect("an id");
        let shown: Details = world.rejoin(["show", &new, "-t", "--json"]).code(0).json();
        shown.messages.expect("messages").into_iter().map(|message| message.text).collect::<Vec<_>>()
    };
    let copy = world.rejoin(["rewind", &id(1), "--json"]).code(7).error();
    assert!(copy.message.contains("nothing to rewind: the last message is a good reply"), "{}", copy.message);
    assert_eq!(texts(&["--to", "2"]), ["one", "1"]);
    assert_eq!(texts(&["--branch", "2"]), ["one", "1", "two", "2"]);
    assert_eq!(texts(&["--branch", "2", "--to", "3"]), ["one", "1", "two"]);
    for (args, code) in [(["--to", "9"], 5), (["--to", "0"], 2), (["--branch", "7"], 5), (["--to", "x"], 2)] {
        world.rejoin(["rewind", &id(1)].iter().copied().chain(args)).code(code);
    }
    world.rejoin(["rewind", "ffffffff"]).code(5);
    world.rejoin(["rewind", "1"]).code(2);
    world.add(refused(Claude::session(id(2)).in_dir("/usr").chained(), "a", "API Error: 400 bad"));
    let never = world.rejoin(["rewind", &id(2), "--json"]).code(7).error();
    assert!(never.message.contains("no good reply"), "{}", never.message);
}
