//! `search`: messages of every role and in every place are found.

use serde_json::json;
use unicode_width::UnicodeWidthStr as _;

use crate::archive::wipe;
use crate::contract::search::{Line, Search};
use crate::contract::{Agent, Kind, Role};
use crate::fixtures::{
    Amplifier, Claude, Codex, Copilot, Gemini, Gptme, Jido, Kimi, OpenHands, Pi, Qwen, Vibe, id, openhands_id,
};
use crate::terminal::shell;
use crate::world::World;

/// A directory that exists on every machine.
const APP: &str = "/usr/bin";

fn search(world: &World, args: &[&str]) -> Search {
    world.rejoin(["search", "--json"].iter().chain(args)).code(0).stderr_eq("").json()
}

fn ids(answer: &Search) -> Vec<&str> {
    answer.sessions.iter().map(|found| found.id.as_str()).collect()
}

#[test]
fn search_finds_messages_of_every_agent() {
    let world = World::new();
    let (asked, reply) = ("where is the quokka", "the Quokka sleeps");
    world.add(Amplifier::session(id(1)).in_dir(APP).turn(asked, reply));
    world.add(Claude::session(id(2)).in_dir(APP).turn(asked, reply));
    world.add(Codex::session(id(3)).in_dir(APP).turn(asked, reply));
    world.add(Copilot::session(id(4)).in_dir(APP).turn(asked, reply));
    world.add(Gemini::session(id(5)).in_dir(APP).turn(asked, reply));
    let said_by = |role: &str, text: &str| json!({"id": role, "role": role, "content": text, "timestamp": "2026-02-01T10:00:00Z"});
    let conversation = json!([said_by("user", asked), said_by("assistant", reply)]);
    world.add(Jido::session(id(6)).key("conversation", conversation));
    world.add(Kimi::session(id(7)).in_dir(APP).turn(asked, reply));
    world.add(Pi::session(id(8)).in_dir(APP).turn(asked, reply));
    world.add(Qwen::session(id(9)).in_dir(APP).turn(asked, reply));
    world.add(Vibe::session(id(10)).in_dir(APP).turn(asked, reply));
    world.add(Gptme::session(id(12)).in_dir(APP).turn(asked, reply));
    world.add(OpenHands::session(openhands_id(1)).in_dir(APP).turn(asked, reply));
    world.add(Claude::session(id(11)).in_dir(APP).turn("something else", "ok"));
    let answer = search(&world, &["QUOKKA", "--exact"]);
    assert_eq!((answer.sessions.len(), answer.case_sensitive, answer.searched), (0, true, 13));
    let answer = search(&world, &["quokka"]);
    let mut found = ids(&answer);
    found.sort_unstable();
    let mut expected: Vec<String> = (1..=10).map(id).chain([id(12), openhands_id(1)]).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
    for session in &answer.sessions {
        assert_eq!((session.matches, session.messages.len()), (2, 2), "{session:?}");
        let [first, second] = [0, 1].map(|at| &session.messages[at]);
        assert_eq!((first.role, first.excerpt.as_str()), (Role::User, asked), "{session:?}");
        assert_eq!((second.role, second.excerpt.as_str()), (Role::Assistant, reply), "{session:?}");
        assert!(first.number < second.number);
    }
    assert_eq!((answer.searched, answer.hidden, answer.limit_reached), (13, 0, false));
}

#[test]
fn search_covers_titles_and_optionally_sub_agents() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("look", "ok").title("The walrus plan"));
    world.add(Claude::session(id(2)).in_dir(APP).turn("look", "ok").subagent("agent-a1", "find the walrus", "none"));
    let answer = search(&world, &["walrus"]);
    assert_eq!((ids(&answer), answer.hidden), (vec![&*id(1)], 1));
    let found = &answer.sessions[0];
    assert_eq!((found.in_title, found.matches, found.title.as_deref()), (true, 0, Some("The walrus plan")));
    let lines = world.rejoin(["search", "walrus"]).code(0).stdout();
    assert_eq!(lines, format!("claude\t{}\ttitle\t\tThe walrus plan\n", id(1)));
    let all = search(&world, &["walrus", "--all"]);
    assert_eq!(all.sessions.len(), 2);
    let subagent = all.sessions.iter().find(|found| found.kind == Kind::Subagent).expect("the sub-agent");
    assert_eq!((subagent.agent, subagent.messages[0].excerpt.as_str()), (Agent::CLAUDE, "find the walrus"));
    // Only messages have a role, so a title does not match.
    assert_eq!(search(&world, &["walrus", "--role", "user"]).sessions.len(), 0);
}

#[test]
fn piped_search_has_order_of_json() {
    let world = World::new();
    let session = |number| Claude::session(id(number)).in_dir(APP);
    world.add(session(1).turn("otter otter heron", "ok"));
    world.add(session(2).turn("otter heron heron heron heron heron heron", "ok"));
    (3..9).for_each(|number| drop(world.add(session(number).turn("a heron", "ok"))));
    (9..60).for_each(|number| drop(world.add(session(number).turn("nothing", "ok"))));
    let lines = world.rejoin(["search", "otter", "heron", "--sessions"]).code(0).stdout();
    let piped: Vec<&str> = lines.lines().filter_map(|line| line.split('\t').nth(1)).collect();
    assert_eq!(piped, ids(&search(&world, &["otter", "heron"])));
    assert_eq!(piped, [id(2), id(1)]);
}

#[test]
fn search_respects_roles_limits_and_filters() {
    let world = World::new();
    let long = Claude::session(id(1)).in_dir(APP).at("2026-02-01T10:00:00Z");
    world.add((0..5).fold(long, |session, _| session.turn("the otter swims", "an otter, yes")));
    world.add(Claude::session(id(2)).in_dir("/usr/lib").at("2026-02-02T10:00:00Z").turn("an otter", "no"));
    // The best match comes first.
    let best = search(&world, &["otter"]);
    assert_eq!(ids(&best), [id(1), id(2)]);
    let [first, second] = [0, 1].map(|at| best.sessions[at].score.expect("a score"));
    assert!(first > second, "{first} {second}");
    assert_eq!(ids(&search(&world, &["otter", "--sort", "active"])), [id(2), id(1)]);
    let first = search(&world, &["otter", "--limit", "1"]);
    assert_eq!((ids(&first), first.limit_reached), (vec![&*id(1)], true));
    // Nothing is beyond a limit if all of them fit.
    assert!(!search(&world, &["otter", "--limit", "2"]).limit_reached);
    let answer = search(&world, &["otter", "--dir", APP]);
    assert_eq!((answer.sessions[0].matches, answer.sessions[0].messages.len()), (10, 3));
    assert_eq!(search(&world, &["otter", "--agent", "codex"]).sessions.len(), 0);
    let answer = search(&world, &["otter", "--dir", APP, "--role", "assistant", "--matches", "9"]);
    assert_eq!((ids(&answer), answer.sessions[0].messages.len()), (vec![&*id(1)], 5));
    assert_eq!(search(&world, &["otter", "--since", "2026-02-02"]).sessions.len(), 1);
    assert_eq!(search(&world, &["Otter"]).sessions.len(), 2);
    assert_eq!(search(&world, &["Otter", "--case-sensitive"]).sessions.len(), 0);
    assert_eq!(search(&world, &["otter", "--case-sensitive"]).sessions.len(), 2);
    // A literal text is not a regular expression.
    assert_eq!(search(&world, &["o.ter"]).sessions.len(), 0);
}

#[test]
fn words_match_across_messages_unlike_exact_text() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("the heron and the grey otter", "ok"));
    world.add(Claude::session(id(2)).in_dir(APP).turn("a heron", "an otter"));
    assert_eq!(search(&world, &["otter", "heron"]).sessions.len(), 2);
    assert_eq!(ids(&search(&world, &["grey otter", "heron"])), [id(1)]);
    assert_eq!(search(&world, &["heron otter", "--exact"]).sessions.len(), 0);
    assert_eq!(ids(&search(&world, &["otter", "heron", "--exact"])), [id(1)]);
    assert_eq!(search(&world, &["HERON", "-i", "--exact"]).sessions.len(), 2);
    assert_eq!(search(&world, &["HERON"]).sessions.len(), 2);
    assert_eq!(search(&world, &["HERON", "--exact"]).sessions.len(), 0);
    world.rejoin(["search", "x", "--exact", "--sort", "active"]).code(2);
}

#[test]
fn search_matches_forms_accents_and_identifiers() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("why was the relay retried?", "the résumé is in `retryBudget`"));
    for words in
        [&["relays"][..], &["retrying"], &["RESUME"], &["budgets"], &["retry_budget", "relay"], &["relays", "budget"]]
    {
        let answer = search(&world, words);
        assert_eq!(
            answer.sessions.iter().filter(|found| !answer.partial && !found.id.is_empty()).count(),
            1,
            "{words:?}"
        );
    }
    // Phones and models write other quotation marks than keyboards.
    world.add(Claude::session(id(2)).in_dir(APP).turn("don't stop the pump", "it’s a “dry run” now"));
    for words in ["don’t", "don't", "it's", "it’s", "“stop the pump”"] {
        assert_eq!(ids(&search(&world, &[words])), [id(2)], "{words}");
    }
    let shown = world.on_terminal(80, ["search", "budgets", "relays"]).code(0).stdout();
    let found = "\u{1b}[1m\u{1b}[38;5;163m";
    assert!(
        shown.contains(&format!("retry{found}Budget\u{1b}[0m")) && shown.contains(&format!("{found}relay")),
        "{shown:?}"
    );
}

#[test]
fn phrase_without_match_falls_back_to_its_words() {
    let world = World::new();
    world.add(Claude::session(id(1)).turn("add a health check", "parse_result and retryBudget are done"));
    world.add(Claude::session(id(2)).turn("use safeRedirect", "done"));
    world.add(Claude::session(id(3)).turn("a check of my health", "done"));
    for (typed, found, used) in [
        ("health check", vec![id(1)], None),
        ("health chekc", vec![id(1), id(3)], Some("health check")),
        ("safe redirect", vec![id(2)], Some("safe redirect")),
        ("parse_reuslt", vec![id(1)], Some("parse result")),
        ("retry-bugdet", vec![id(1)], Some("retry budget")),
        ("no such text", vec![], None),
        // Marks of punctuation, and a phrase of which no session has all words.
        ("redirect?", vec![id(2)], Some("redirect")),
        ("the xylophone of the redirect", vec![id(2)], Some("redirect")),
    ] {
        let answer = search(&world, &[typed]);
        let mut ids = ids(&answer);
        ids.sort_unstable();
        assert_eq!(
            (ids, answer.replaced.first().map(|one| one.used.as_str())),
            (found.iter().map(|id| &**id).collect(), used),
            "{typed}"
        );
    }
    let stderr = world.on_terminal(100, ["search", "health chekc"]).code(0).stderr();
    assert!(stderr.contains("Nothing has \"health chekc\"; showing the words health check.\n"), "{stderr}");
    // Rows read only the files that may have the words.
    let rows = world.rejoin(["search", "parse_reuslt"]).code(0).stdout();
    assert!(rows.contains(&id(1)), "{rows}");
}

#[test]
fn search_replaces_or_reports_unknown_word() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("the relay is ready", "ok"));
    world.add(Claude::session(id(2)).in_dir(APP).turn("ready", "nothing else"));
    let answer = search(&world, &["realy"]);
    let replaced: Vec<_> = answer.replaced.iter().map(|one| (one.typed.as_str(), one.used.as_str())).collect();
    assert_eq!((ids(&answer), replaced), (vec![&*id(1)], vec![("realy", "relay")]));
    // A script gets no notes, but the same sessions.
    let piped = world.rejoin(["search", "realy", "-l"]).code(0);
    assert!(piped.stdout().contains(&id(1)) && piped.stderr().contains("Nothing has \"realy\"; showing \"relay\"."));
    // The picker finds no session with the mistyped word.
    let (_, printed) = shell(&world, "search realy ready").ends();
    assert!(printed.contains("`rejoin search relay ready --pick` opens the picker at them."), "{printed}");
    let answer = search(&world, &["ready", "xylophone"]);
    assert_eq!((ids(&answer).len(), &*answer.missing, answer.partial), (2, &["xylophone".to_owned()][..], true));
    let shown = world.on_terminal(80, ["search", "ready", "xylophone"]).code(0);
    assert!(shown.stderr().contains("Nothing has \"xylophone\"."), "{}", shown.stderr());
    let answer = search(&world, &["relay", "nothing"]);
    assert_eq!((ids(&answer).len(), answer.missing.len(), answer.partial), (2, 0, true));
    assert_eq!(answer.sessions[0].words.as_deref().map(<[String]>::len), Some(1));
    assert_eq!(search(&world, &["xylophone"]).sessions.len(), 0);
}

#[test]
fn replacement_occurs_with_the_other_words() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("the rocket", "flies"));
    world.add(Claude::session(id(2)).in_dir(APP).turn("two rockets", "fly"));
    world.add(Claude::session(id(3)).in_dir(APP).turn("the socket", "has a timeout"));
    let answer = search(&world, &["tocket", "timeout"]);
    assert_eq!((ids(&answer), answer.replaced[0].used.as_str()), (vec![&*id(3)], "socket"));
    assert_eq!(search(&world, &["tocket", "flying"]).replaced[0].used, "rocket");
    let lines = world.rejoin(["search", "tocket", "timeout"]).code(0).stdout();
    assert!(lines.contains(&id(3)) && !lines.contains(&id(1)), "{lines}");
}

#[test]
fn search_does_not_suggest_word_of_hidden_session() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("it is ready", "ok"));
    world.add(Claude::session(id(2)).in_dir(APP).turn("look", "ok").subagent("agent-a1", "find the relay", "none"));
    world.add(Claude::session(id(3)).in_dir("/usr/lib").turn("the relay", "ok"));
    let piped = world.rejoin(["search", "realy", "-l", "--dir", APP]).code(0);
    assert!(piped.stdout().contains(&id(1)), "{}", piped.stderr());
    let answer = search(&world, &["realy", "--dir", APP]);
    assert_eq!((ids(&answer), answer.replaced[0].used.as_str()), (vec![&*id(1)], "ready"));
}

#[test]
fn hyphen_excludes_sessions_with_word() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("the relay", "of mails"));
    world.add(Claude::session(id(2)).in_dir(APP).turn("the relay", "of races"));
    assert_eq!(ids(&search(&world, &["relay", "--", "-mail"])), [id(2)]);
    assert_eq!(search(&world, &["relay", "--", "-bin"]).sessions.len(), 0, "a directory has words, too");
    world.rejoin(["search", "--", "-mail"]).code(2);
}

#[test]
fn three_vague_queries_find_lost_mails() {
    let home = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
    let world = World::new();
    for words in [&["cron", "relay"][..], &["relays"], &["mails", "lost"]] {
        let base = ["--home", home.to_str().expect("a path"), "search", "--json"];
        let answer: Search = world.rejoin(base.iter().chain(words)).code(0).json();
        assert_eq!(ids(&answer).first().copied(), Some("5a1e0c74-9d2b-4c83-b7f6-2e8d1a0f3b95"), "{words:?}");
    }
}

#[test]
fn search_accepts_regex_and_refuses_invalid_one() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("error E0425 in line 7", "ok"));
    world.add(Claude::session(id(2)).in_dir(APP).turn("no error at all", "ok"));
    let answer = search(&world, &["--regex", r"e\d{4}"]);
    assert_eq!((ids(&answer), answer.regex, answer.text.as_str()), (vec![&*id(1)], true, r"e\d{4}"));
    assert!(answer.sessions[0].messages[0].excerpt.contains("E0425"));
    let wrong = world.rejoin(["search", "--regex", "("]).code(2).stderr();
    assert!(wrong.contains("unclosed group") && wrong.contains("without --regex"), "{wrong}");
    world.rejoin(["search", "--regex", "a", "b"]).code(2);
}

#[test]
fn title_matches_come_first() {
    let world = World::new();
    let titled = Claude::session(id(1)).in_dir(APP).at("2026-02-01T10:00:00Z").turn("x", "y");
    world.add(titled.title("All about newts"));
    world.add(Claude::session(id(2)).in_dir(APP).at("2026-02-02T10:00:00Z").turn("x", "newts are small"));
    assert_eq!(ids(&search(&world, &["newts"])), [id(1), id(2)]);
    assert_eq!(ids(&search(&world, &["newts", "--role", "assistant"])), [id(2)]);
}

#[test]
fn excerpt_fits_terminal_but_not_pipes() {
    let world = World::new();
    let line = format!("{}newt{}", "before it ".repeat(30), " after it".repeat(60));
    world.add(Claude::session(id(1)).in_dir(APP).turn(&format!("first\n{line}\nlast"), "ok"));
    for columns in [60, 80, 120, 200] {
        let shown = world.on_terminal(columns, ["search", "newt", "--color", "never"]).code(0).stdout();
        let excerpt = shown.lines().nth(1).expect("an excerpt").chars().count();
        assert!((usize::from(columns) - 2..=columns.into()).contains(&excerpt), "{columns}: {excerpt}\n{shown}");
    }
    assert_eq!(search(&world, &["newt"]).sessions[0].messages[0].excerpt, line);
    let piped = world.rejoin(["search", "newt"]).code(0).stdout();
    assert!(piped.contains(&line), "{piped}");
}

#[test]
fn search_shows_sessions_counts_or_context() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("one\ntwo\nthree newt\nfour\nfive", "newt").turn("x", "newt"));
    let line = |args: &[&str]| world.rejoin(["search", "newt"].iter().chain(args)).code(0).stdout();
    assert_eq!(line(&["-l"]), format!("claude\t{}\tone\\ntwo\\nthree newt\\nfour\\nfive\n", id(1)));
    assert_eq!(line(&["-c"]), format!("claude\t{}\t3\n", id(1)));
    let around = search(&world, &["newt", "-C", "1", "--matches", "1"]);
    assert_eq!(around.sessions[0].messages[0].excerpt, "two\nthree newt\nfour");
    assert_eq!(search(&world, &["newt", "-l"]).sessions[0].matches, 3);
    let shown =
        world.on_terminal(60, ["search", "newt", "-C", "1", "--matches", "1", "--color", "never"]).code(0).stdout();
    let lines: Vec<&str> = shown.lines().skip(1).take(3).map(str::trim).collect();
    assert_eq!(lines, ["user      two", "three newt", "four"], "{shown}");
    let counted = world.on_terminal(60, ["search", "newt", "-c", "--color", "never"]).code(0).stdout();
    assert!(counted.contains("\n  3 messages"), "{counted}");
}

#[test]
fn search_archived_finds_archived_sessions() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("where is the heron", "at the lake"));
    world.add(Codex::session(id(2)).in_dir(APP).turn("look", "the heron flew"));
    world.rejoin(["archive", "--every"]).code(0);
    wipe(&world);
    assert_eq!(search(&world, &["heron"]).sessions.len(), 0);
    let answer = search(&world, &["heron", "--archived"]);
    let mut found = ids(&answer);
    found.sort_unstable();
    assert_eq!(found, [id(1), id(2)]);
    assert!(answer.sessions.iter().all(|found| found.state == Some(1) && found.matches == 1), "{answer:?}");
    // No temporary files remain.
    let state = world.home().join(".local/state/rejoin");
    let left = std::fs::read_dir(state).into_iter().flatten().map(|entry| entry.expect("an entry").file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("rejoin-shown-")).collect();
    assert!(left.is_empty(), "{left:?}");
    world.rejoin(["search", "heron", "--archived", "--archive-dir", "/nowhere"]).code(5);
}

#[test]
fn search_reports_texts_too_long_to_search() {
    let world = World::new();
    let long = format!("heron {}", "word ".repeat(2 << 20));
    let path = world.add(Claude::session(id(1)).in_dir(APP).turn("one heron", "ok").prompt(&long));
    // Encoded data has no words.
    world.add(Claude::session(id(3)).in_dir(APP).turn(&format!("three herons {}", "A".repeat(9 << 20)), "ok"));
    let all = Claude::session(id(2)).in_dir(APP).turn("two herons", "ok");
    world.add(all);
    for mode in [&[][..], &["--exact"]] {
        let answer = world.rejoin(["search", "heron", "--json"].iter().chain(mode)).code(0);
        let warning = format!(
            "cannot read {}: it has a record of more than 8 MiB, which is not searched to its end",
            path.display()
        );
        assert!(answer.stderr().contains(&warning), "{mode:?} {}", answer.stderr());
        let found: Search = answer.json();
        assert_eq!((found.sessions.len(), found.problems.len()), (3, 1), "{mode:?}");
    }
}

#[test]
fn search_reports_damaged_archive_and_continues() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("one heron", "ok"));
    world.add(Claude::session(id(2)).in_dir(APP).turn("another heron", "ok"));
    world.rejoin(["archive", &id(1)]).code(0);
    let chunks = |world: &World| -> Vec<std::path::PathBuf> {
        let root = crate::archive::own_dir(world).join("blobs");
        let files = walkdir::WalkDir::new(root).into_iter().map(|entry| entry.expect("an entry"));
        files.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
    };
    let of_first = chunks(&world);
    assert!(!of_first.is_empty());
    world.rejoin(["archive", &id(2)]).code(0);
    for chunk in of_first {
        std::fs::remove_file(chunk).expect("a chunk");
    }
    let answer = world.rejoin(["search", "heron", "--archived", "--json"]).code(0);
    assert!(answer.stderr().contains("damaged"), "{}", answer.stderr());
    let found: Search = answer.json();
    assert_eq!((ids(&found), found.problems.len()), (vec![&*id(2)], 1));
}

#[test]
fn ndjson_has_header_sessions_and_summary() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("a heron", "ok"));
    let text = world.rejoin(["search", "heron", "--format", "ndjson"]).code(0).stdout();
    let lines: Vec<Line> = text.lines().map(crate::contract::parse).collect();
    assert!(matches!(&lines[..], [Line::Header(_), Line::Match(_), Line::Summary(summary)] if summary.sessions == 1));
    let nothing = world.rejoin(["search", "walrus"]).code(0).stderr_eq("");
    assert_eq!(nothing.stdout(), "");
}

#[test]
fn terminal_search_prints_escaped_lines_that_fit() {
    let world = World::new();
    let long = format!("{} \u{1b}]0;evil\u{7}\u{202e} ibis\tand\n{}", "word ".repeat(60), "more ".repeat(60));
    world.add(Claude::session(id(1)).in_dir(APP).turn(&long, "an ibis"));
    let text = world.on_terminal(60, ["search", "ibis", "--color", "never"]).code(0).stdout();
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    assert!(lines[0].starts_with("claude ") && lines[1].starts_with("  user") && lines[2].starts_with("  assistant"));
    assert!(lines[1].contains("ibis and more"), "{text}");
    assert!(lines[1..3].iter().all(|line| line.chars().count() <= 60), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    // A character may be two columns wide, and a title and a directory may have any width.
    world.add(Claude::session(id(2)).in_dir("/srv/日本語/のとても長い名前の/app").turn(&"鳥 ibis ".repeat(40), "x"));
    for columns in [40, 60, 80, 120] {
        let text = world.on_terminal(columns, ["search", "ibis", "--color", "never"]).code(0).stdout();
        assert!(text.lines().all(|line| line.width() <= usize::from(columns)), "{columns}: {text}");
    }
    let piped = world.rejoin(["search", "鳥"]).code(0).stdout();
    assert!(piped.lines().next().is_some_and(|line| line.width() > 120), "a pipe gets the whole line: {piped}");
    let nothing = world.on_terminal(60, ["search", "dodo"]).code(0);
    let all = [nothing.stdout(), nothing.stderr()].concat();
    assert!(all.contains("No match for \"dodo\" in 2 sessions."), "{all}");
}

#[test]
fn search_and_list_accept_filter_words() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).at("2026-02-01T10:00:00Z").turn("the relay", "ok"));
    world.add(Pi::session(id(2)).in_dir("/usr/lib").at("2026-02-10T10:00:00Z").turn("the relay", "lost mails"));
    world.rejoin(["pin", &id(1)]).code(0);
    for (filter, found) in [
        ("agent:pi", id(2)),
        ("agent:CLAUDE", id(1)),
        ("dir:usr/bin", id(1)),
        ("since:2026-02-05 10:00", id(2)),
        ("before:2026-02-05 10:00", id(1)),
        ("is:pinned", id(1)),
        ("is:pin", id(1)),
    ] {
        assert_eq!(ids(&search(&world, &["relay", filter])), [&found], "{filter}");
        let piped = world.rejoin(["search", "relay", "--sessions", filter]).code(0).stdout();
        assert!(piped.contains(&found) && piped.lines().count() == 1, "{filter}: {piped}");
        let listed = world.rejoin(["list", "relay", filter]).code(0).stdout();
        assert!(listed.contains(&found) && listed.lines().count() == 1, "{filter}: {listed}");
    }
    assert_eq!(ids(&search(&world, &["relay", "!mail"])), [id(1)]);
    let listed = world.rejoin(["list", "agent:pi relay"]).code(0).stdout();
    assert!(listed.contains(&id(2)) && listed.lines().count() == 1, "{listed}");
    assert_eq!(world.rejoin(["list", "pinned"]).code(0).stdout().lines().count(), 1);
    assert_eq!(world.rejoin(["list", "relay", "!usr/lib"]).code(0).stdout().lines().count(), 1);
    let no_words = "error: a search takes 1 to 32 words, not 0\nhint: `rejoin list` takes filters alone\n";
    world.rejoin(["search", "is:pinned"]).code(2).stderr_eq(no_words);
    for command in ["search", "list"] {
        let refused = world.rejoin([command, "relay", "is:lost"]).code(2);
        refused.stderr_eq("error: no mark is called lost; `rejoin help marks` lists them\n");
        let refused = world.rejoin([command, "relay", "since:soon"]).code(2);
        let forms = "hint: run `rejoin help filters` to see every form\n";
        refused.stderr_eq(format!("error: soon is neither an age nor a date\n{forms}"));
    }
}

#[test]
fn search_refuses_wrong_arguments() {
    let world = World::new();
    world.rejoin(["search"]).code(2);
    world.rejoin(["search", ""]).code(2);
    world.rejoin(["search", "x", "--archive-dir", "/tmp"]).code(2);
    world.rejoin(["search", "x", "--role", "robot"]).code(2);
}

#[test]
fn closed_pipe_ends_search_quietly() {
    let world = World::new();
    for n in 1..=200 {
        world.add(Claude::session(id(n)).in_dir(APP).turn(&"heron ".repeat(200), "ok"));
    }
    crate::pipes::leaves_early(&world, &["search", "heron", "--format", "ndjson", "--matches", "9"]);
}

#[test]
fn search_refuses_slow_regex() {
    let world = World::new();
    world.add(Claude::session(id(1)).turn("the quokka", "ok"));
    let long = world.rejoin(["search", "--regex", &"a".repeat(100_000)]).code(2);
    let expected = "error: the regular expression is longer than 1000 characters\n\
                    hint: search for it as it is typed without --regex\n";
    long.stderr_eq(expected);
    let large = world.rejoin(["search", "--regex", r"\w{5000}"]).code(2).stderr();
    assert!(large.contains("exceeds size limit"), "{large}");
    assert!(world.rejoin(["search", "--regex", r"qu\w{2,20}a"]).code(0).stdout().contains("quokka"));
}

#[test]
fn replacement_uses_only_words_of_selected_roles() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("the relay of the queue", "ok"));
    let answer = search(&world, &["quueue", "--role", "assistant"]);
    assert_eq!((answer.sessions.len(), answer.replaced.len(), answer.missing.len()), (0, 0, 1));
    assert_eq!(search(&world, &["quueue", "--role", "user"]).replaced[0].used, "queue");
    // A row for a script comes with the same notes as a table.
    let answer = world.rejoin(["search", "relay", "zebra", "--format", "tsv"]).code(0);
    assert!(
        answer.stdout().contains("relay") && answer.stderr().contains("Nothing has \"zebra\""),
        "{}",
        answer.stderr()
    );
}

#[test]
fn search_refuses_filters_that_cannot_apply() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir(APP).turn("the relay", "ok"));
    for (words, error) in [
        (["list", "!agent:cluade"], "no agent is called cluade"),
        (["search", "!is:lost"], "no mark is called lost; `rejoin help marks` lists them"),
        (["search", "since:lst week"], "lst week is neither an age nor a date"),
        (["list", "since:lst week"], "lst week is neither an age nor a date"),
    ] {
        let stderr = world.rejoin(words).code(2).stderr();
        assert!(stderr.contains(error), "{words:?}: {stderr}");
    }
}
