//! Names of sessions, and the errors for names that match none.

use crate::contract::{self, Agent, ErrorKind};
use crate::fixtures::{Amplifier, Claude, Leo, amplifier_slug, id};
use crate::world::World;

fn shown(world: &World, selector: &str) -> (Agent, String) {
    let details: contract::Details = world.rejoin(["show", selector, "--json"]).code(0).json();
    (details.session.agent, details.session.id)
}

const A: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const B: &str = "aaaaaaaa-0000-4000-8000-000000000002";

#[test]
fn title_words_match_in_any_form() {
    let world = World::new();
    world.add(Claude::session(id(1)).title("Retried the relay of `mailQueue`").turn("x", "y"));
    world.add(Claude::session(id(2)).title("Other").turn("x", "y"));
    for words in [&["relays"][..], &["retrying"], &["queues"], &["mail_queue", "relaying"]] {
        let shown = world.rejoin(["show", &words.join(" "), "--json"]).code(0).stdout();
        assert!(shown.contains(&id(1)), "{words:?}: {shown}");
        let listed = world.rejoin(["list"].iter().chain(words)).code(0).stdout();
        assert!(listed.contains(&id(1)) && !listed.contains(&id(2)), "{words:?}: {listed}");
    }
    world.rejoin(["show", "delays"]).code(5);
}

#[test]
fn full_id_or_unique_prefix_selects_session() {
    let world = World::new();
    world.add(Claude::session(A).turn("x", "y"));
    world.add(Amplifier::session(B).turn("x", "y"));
    world.add(Claude::session(id(3)).turn("x", "y"));
    assert_eq!(shown(&world, A), (Agent::CLAUDE, A.to_owned()));
    assert_eq!(shown(&world, "00"), (Agent::CLAUDE, id(3)));
    assert_eq!(shown(&world, "amplifier:aaaa"), (Agent::AMPLIFIER, B.to_owned()));
    assert_eq!(shown(&world, "claude:aaaa"), (Agent::CLAUDE, A.to_owned()));
}

#[test]
fn ambiguous_prefix_lists_candidates() {
    let world = World::new();
    world.add(Claude::session(A).title("First").turn("x", "y"));
    world.add(Amplifier::session(B).named("Second").turn("x", "y"));
    for verb in ["show", "resume", "backfill"] {
        let answer = world.rejoin([verb, "aaaa"]);
        // Only Amplifier's sessions can be backfilled, so the prefix is unique for `backfill`.
        if verb == "backfill" {
            answer.code(0);
            continue;
        }
        let answer = answer.code(6).stdout_eq("");
        for part in [A, B, "First", "Second"] {
            assert!(answer.stderr().contains(part), "{}", answer.stderr());
        }
    }
    let error = world.rejoin(["show", "aaaa", "--json"]).code(6).stdout_eq("").error();
    assert_eq!((error.kind, error.code.as_str(), error.exit), (ErrorKind::Error, "ambiguous", 6));
    let candidates: Vec<(Agent, &str, &str)> =
        error.candidates.iter().map(|one| (one.agent, one.id.as_str(), one.select.as_str())).collect();
    assert_eq!(candidates, [(Agent::AMPLIFIER, B, B), (Agent::CLAUDE, A, A)]);
    assert!(error.hint.is_some());
}

#[test]
fn agent_prefix_distinguishes_equal_ids() {
    let world = World::new();
    world.add(Claude::session(A).turn("x", "y"));
    world.add(Amplifier::session(A).turn("x", "y"));
    let error = world.rejoin(["show", A, "--json"]).code(6).error();
    let select: Vec<&str> = error.candidates.iter().map(|one| one.select.as_str()).collect();
    assert_eq!(select, [format!("amplifier:{A}"), format!("claude:{A}")]);
    for one in &error.candidates {
        assert_eq!(shown(&world, &one.select), (one.agent, A.to_owned()), "what is offered works");
    }
    assert_eq!(
        world.rejoin(["show", A, "--agent", "claude", "--json"]).code(0).json::<contract::Details>().session.agent,
        Agent::CLAUDE
    );
}

#[test]
fn exact_id_beats_longer_ids() {
    let world = World::new();
    // Older sub-agents have their parent's whole id as a prefix.
    world.add(Amplifier::session(A).turn("x", "y"));
    world.add(Amplifier::session(format!("{A}-1234567890abcdef_helper")).turn("x", "y"));
    assert_eq!(shown(&world, A).1, A);
    assert_eq!(shown(&world, "aaaaaaaa").1, A);
    assert_eq!(shown(&world, &format!("{A}-12")).1, format!("{A}-1234567890abcdef_helper"));
}

#[test]
fn selector_of_unknown_session_is_an_error() {
    let world = World::new();
    world.add(Claude::session(A).turn("x", "y"));
    world.add(Claude::session("bbbbbbbb-0000-4000-8000-000000000002").turn("x", "y"));
    for selector in ["ffff", "amplifier:aaaa", "/no/such/place", "aaaaaaaa-0000-4000-8000-00000000000100"] {
        for verb in ["show", "resume"] {
            let answer = world.rejoin([verb, selector]).code(5).stdout_eq("");
            assert!(answer.stderr().starts_with("error: "), "{}", answer.stderr());
        }
    }
    for words in [["aaaa", "bbbb"], ["latest", "aaaa"]] {
        let several = world.rejoin(["resume", words[0], words[1]]).code(5).stderr();
        assert!(several.ends_with("hint: name one session at a time\n"), "{several}");
    }
    let error = world.rejoin(["resume", "ffff", "--json"]).code(5).error();
    assert_eq!((error.code.as_str(), error.exit), ("not-found", 5));
}

#[test]
fn latest_selects_newest_after_filters() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).at("2026-02-01T10:00:00Z").turn("x", "y"));
    world.add(Amplifier::session(id(2)).in_dir(&app).at("2026-02-02T10:00:00Z").turn("x", "y"));
    world.add(
        Claude::session(id(3)).in_dir("/z").at("2026-02-03T10:00:00Z").turn("x", "y").subagent("agent-z", "p", "r"),
    );
    let latest = |args: &[&str]| -> String {
        let answer = world.from(&app).rejoin(["show", "latest", "--json"].iter().chain(args)).code(0);
        answer.json::<contract::Details>().session.id
    };
    assert_eq!(latest(&[]), id(3));
    assert_eq!(latest(&["--here"]), id(2));
    assert_eq!(latest(&["--agent", "claude", "--here"]), id(1));
    assert_eq!(latest(&["--older-than", "2026-02-02"]), id(1));
    world.rejoin(["show", "latest", "--since", "1h"]).code(5);
    world.rejoin(["resume", "latest", "--agent", "leo"]).code(5);
}

#[test]
fn latest_prefers_interactive_sessions() {
    let world = World::new();
    let script = Claude::session(id(1)).entrypoint("sdk-cli").in_dir("/z").at("2026-02-03T10:00:00Z").turn("x", "y");
    world.add(script);
    std::os::unix::fs::symlink("/nowhere", world.home().join(".claude/projects/-gone")).expect("a link");
    let answer = world.rejoin(["show", "latest", "--json"]).code(0);
    assert_eq!(answer.json::<contract::Details>().session.id, id(1));
    assert_eq!(answer.stderr().matches("warning: ").count(), 1, "{}", answer.stderr());
    world.add(Claude::session(id(2)).in_dir("/z").at("2026-02-02T10:00:00Z").turn("x", "y"));
    assert_eq!(world.rejoin(["show", "latest", "--json"]).code(0).json::<contract::Details>().session.id, id(2));
}

#[test]
fn path_of_session_file_selects_session() {
    let world = World::new();
    let transcript = world.add(Claude::session(id(1)).turn("x", "y").subagent("agent-a", "p", "r"));
    let dir = world.add(Amplifier::session(id(2)).turn("x", "y"));
    let side = transcript.with_extension("");
    let named = |path: &std::path::Path| shown(&world, path.to_str().expect("a path")).1;
    assert_eq!(named(&transcript), id(1));
    assert_eq!(named(&side), id(1));
    assert_eq!(named(&dir), id(2));
    assert_eq!(named(&dir.join("metadata.json")), id(2));
    let relative = world.from(&dir).rejoin(["show", "./transcript.jsonl", "--json"]).code(0);
    assert_eq!(relative.json::<contract::Details>().session.id, id(2));
    world.rejoin(["show", dir.parent().and_then(|dir| dir.to_str()).expect("a path")]).code(5);
}

#[test]
fn path_may_start_with_tilde() {
    let world = World::new();
    world.add(Amplifier::session(id(1)).turn("x", "y"));
    let path = format!("~/.amplifier/projects/{}/sessions/{}", amplifier_slug("/home/ana/app"), id(1));
    assert_eq!(shown(&world, &path).1, id(1));
}

#[test]
fn directory_without_pointer_suggests_list() {
    let world = World::new();
    let app = world.dir("my app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", "y"));
    let answer = world.rejoin(["resume", app.to_str().expect("a path")]).code(5);
    assert!(answer.stderr().contains(&format!("rejoin list --dir '{}'", app.display())), "{}", answer.stderr());
}

#[test]
fn app_directory_selects_session_of_pointer() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).turn("x", "y"));
    world.add(Leo::pointer(&app, &id(1)));
    assert_eq!(shown(&world, app.to_str().expect("a path")).1, id(1));
    assert_eq!(shown(&world, "leo:00000001").1, id(1));
}

#[test]
fn broken_pointer_is_an_error() {
    let world = World::with_agents();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("x", &"y".repeat(6000)));
    crate::fixtures::put(&app.join(".agent_session.json"), "{\"session_id\":");
    world.rejoin(["resume", app.to_str().expect("a path")]).code(1);
    assert!(world.launched().is_none());
}

#[test]
fn file_of_sub_agent_selects_sub_agent() {
    let world = World::new();
    let transcript = world.add(Claude::session(id(1)).turn("x", "y").subagent("agent-a", "p", "r"));
    let path = transcript.with_extension("").join("subagents/agent-a.jsonl");
    let shown: contract::Details = world.rejoin(["show", path.to_str().expect("a path"), "--json"]).code(0).json();
    assert_eq!(shown.session.id, "agent-a");
}

#[test]
fn words_select_session_or_list_matches() {
    let world = World::with_agents();
    let (shop, site) = (world.dir("shop"), world.dir("site"));
    world.add(Claude::session(id(1)).in_dir(&shop).turn("Empty the basket after a login", "Done."));
    world.add(Claude::session(id(2)).in_dir(&site).turn("Write about the basket", "Done."));
    world.add(Amplifier::session(id(3)).in_dir(&site).named("Deploy").turn("Deploy the site", "Done."));
    assert_eq!(shown(&world, "basket shop").1, id(1), "of the title and of the directory");
    assert_eq!(shown(&world, "amplifier site").1, id(3));
    let words: contract::Details = world.rejoin(["show", "about", "basket", "--json"]).code(0).json();
    assert_eq!(words.session.id, id(2), "words need no quotes");
    for verb in ["show", "resume", "delete", "pin"] {
        let answer = world.rejoin([verb, "basket"]).code(6);
        let error = answer.stderr();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines[0], "error: 2 sessions match \"basket\"");
        assert!(lines[1].starts_with(&format!("  claude  {}  Empty the basket", id(1))), "{error}");
        assert!(lines[1].contains("/shop") && lines[1].ends_with("2026-02-01"), "{error}");
        assert_eq!(lines[3], "hint: use the id of one of them, or type more words");
        assert_eq!(lines.len(), 4, "{error}");
    }
    world.rejoin(["show", "basket nowhere"]).code(5);
    assert!(world.launched().is_none());
}

#[test]
fn sessions_that_look_the_same_show_time_and_size() {
    let world = World::new();
    for (n, at, more) in [(1, "2026-02-01T10:00:00Z", 1), (2, "2026-02-01T12:00:00Z", 3)] {
        let session = Claude::session(id(n)).in_dir(world.dir("crane")).at(at).turn("Build the crane", "Done.");
        world.add((0..more).fold(session, |session, _| session.turn("continue", "Done.")));
    }
    let error = world.rejoin(["show", "crane"]).code(6).stderr();
    let lines: Vec<&str> = error.lines().collect();
    assert!(lines[1].contains("2026-02-01 12:07:00, ") && lines[1].ends_with(" KiB"), "{error}");
    assert!(lines[2].contains("2026-02-01 10:03:00, ") && lines[2].ends_with(" KiB"), "{error}");
}

#[test]
fn dot_selects_newest_session_in_current_directory() {
    let world = World::with_agents();
    let (shop, site) = (world.dir("shop"), world.dir("site"));
    world.add(Claude::session(id(1)).in_dir(&shop).turn("First", "Done."));
    world.add(Claude::session(id(2)).in_dir(&shop).at("2026-02-02T10:00:00Z").turn("Second", "Done."));
    world.add(Claude::session(id(3)).in_dir(&site).at("2026-02-03T10:00:00Z").turn("Third", "Done."));
    world.from(&shop).rejoin(["resume", "."]).code(0);
    assert_eq!(world.launched().expect("a launch").argv[2], id(2));
    let error = world.from(world.dir("empty")).rejoin(["resume", "."]).code(5).stderr();
    assert!(
        error.starts_with(&format!("error: no session worked in {} or below it", world.dir("empty").display())),
        "{error}"
    );
}

#[test]
fn typo_suggests_nearest_sessions() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(world.dir("harbour")).turn("x", "y").title("Sort the certificates"));
    world.add(Claude::session(id(2)).in_dir(world.dir("meadow")).turn("x", "y").title("Water the lamps"));
    for (typed, meant) in [("certficates", id(1)), ("harbuor", id(1)), ("medow", id(2)), ("00000003-aaaa", id(1))] {
        let error = world.rejoin(["show", typed, "--json"]).code(5).error();
        assert!(error.candidates.iter().any(|candidate| candidate.id == meant), "{typed}: {error:?}");
        assert!(error.hint.as_deref().is_some_and(|hint| hint.contains("are the closest")), "{error:?}");
    }
    let error = world.rejoin(["show", "cladue:00", "--json"]).code(5).error();
    assert_eq!(error.hint.as_deref(), Some("if you mean the agent, run `rejoin show --json claude:00`"));
    let error = world.rejoin(["show", "quokka", "--json"]).code(5).error();
    assert!(error.candidates.is_empty(), "{error:?}");
}

#[test]
fn selector_kinds_have_a_precedence() {
    // One session per kind of name, the strongest kind first. A number in the list is tested separately below.
    let ways: [&dyn Fn(&World); 6] = [
        &|world| drop(world.add(Amplifier::session("fix").turn("x", "y"))),
        &|world| drop(world.add(Amplifier::session("fix-00").turn("x", "y"))),
        &|world| drop(world.add(Amplifier::session("title").named("fix").turn("x", "y"))),
        &|world| {
            world.add(Claude::session(id(1)).turn("x", "y"));
            world.add(Leo::pointer(world.dir("elsewhere/fix"), &id(1)));
        },
        &|world| drop(world.add(Amplifier::session("part").named("A prefix").turn("x", "y"))),
        &|world| drop(world.add(Amplifier::session("words").in_dir("/srv/fixtures").turn("x", "y"))),
    ];
    let meant = ["fix", "fix-00", "title", &id(1), "part", "words"];
    for (strongest, meant) in meant.iter().enumerate() {
        let world = World::new();
        ways[strongest..].iter().for_each(|add| add(&world));
        assert_eq!(shown(&world, "fix").1, *meant);
    }
    let add = |world: &World, name: &str| drop(world.add(Amplifier::session(name).turn("x", "y")));
    let world = World::new();
    world.add(Claude::session(id(7)).at("2026-02-20T10:00:00Z").turn("x", "y"));
    add(&world, "17");
    add(&world, "1");
    assert_eq!(shown(&world, "1").1, "1", "an id is no number in the list");
    let world = World::new();
    world.add(Claude::session(id(7)).at("2026-02-20T10:00:00Z").turn("x", "y"));
    add(&world, "17");
    assert_eq!(shown(&world, "1").1, id(7), "a number in the list comes before the beginning of an id");
    assert_eq!(shown(&world, "17").1, "17");
    add(&world, "300");
    assert_eq!(shown(&world, "30").1, "300", "the list has no line 30");
}
