//! The home of a comparison with other tools: one id in several places, and other causes of a wrong resume.
//!
//! Each row of that comparison is a test: the right answer or the right refusal, exit code and JSON.

use crate::contract::{self, Agent, Compared};
use crate::fixtures::{Amplifier, Claude, amplifier_slug, claude_slug, id, put};
use crate::terminal::shell;
use crate::world::{Launch, World};

/// Creates one id three times: twice in Claude Code, as diverged copies, and once in Amplifier.
fn one_id_three_times(order: &[usize]) -> World {
    let world = World::with_agents();
    let (alpha, beta) = (world.dir("alpha"), world.dir("beta"));
    let beginning = Claude::session(id(1)).in_dir(&alpha).turn("start", "started");
    for at in order {
        let beginning = beginning.clone();
        match at {
            0 => world.add(beginning.turn("left", "went left")),
            1 => {
                let there = beginning.in_dir(&beta).turn("right", "went right");
                world.add(there.turn("on", "gone on").turn("more", "done"))
            }
            _ => world.add(Amplifier::session(id(1)).in_dir(&alpha).turn("start", "started")),
        };
    }
    world
}

fn launched(world: &World) -> Launch {
    world.launched().expect("a launch")
}

#[test]
fn resume_refuses_id_of_two_agents() {
    let world = one_id_three_times(&[0, 1, 2]);
    let error = world.rejoin(["resume", &id(1), "--json"]).code(6).error();
    assert_eq!((error.code.as_str(), error.exit, error.candidates.len()), ("ambiguous", 6, 3));
    let agents: Vec<Agent> = error.candidates.iter().map(|candidate| candidate.agent).collect();
    assert_eq!(agents, [Agent::AMPLIFIER, Agent::CLAUDE, Agent::CLAUDE]);
    let text = world.rejoin(["resume", &id(1)]).code(6).stderr();
    assert!(text.contains(&format!("claude:{}", id(1))) && text.contains("hint: name the agent"), "{text}");
    assert!(world.launched().is_none());

    world.rejoin(["resume", &format!("amplifier:{}", id(1))]).code(0);
    assert_eq!(launched(&world).argv[0], "amplifier");
    world.rejoin(["resume", &id(1), "--agent", "amplifier"]).code(0);
    assert_eq!(launched(&world).argv[0], "amplifier");
}

#[test]
fn resume_prefers_newer_larger_copy_and_explains_choice() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let world = one_id_three_times(&order);
        let answer = world.rejoin(["resume", &id(1), "--agent", "claude"]).code(0);
        assert_eq!(launched(&world).cwd, world.dir("beta"));
        let stderr = answer.stderr();
        assert!(
            stderr.contains("It has 2 copies") && stderr.contains("newest record and the most messages"),
            "{stderr}"
        );

        let shown: contract::Details = world.rejoin(["show", &format!("claude:{}", id(1)), "--json"]).code(0).json();
        let [chosen, other] = shown.session.copies.as_slice() else { panic!("two copies") };
        assert!(chosen.chosen && !other.chosen);
        assert!(chosen.why.is_some() && other.why.is_none());
        assert_eq!(other.compared, Some(Compared::Diverged));
        assert!(other.diverged_at_record.is_some());
        assert_eq!((chosen.messages, other.messages), (Some(8), Some(4)));
    }
}

#[test]
fn copy_option_accepts_number_or_path() {
    let world = one_id_three_times(&[0, 1, 2]);
    let claude = format!("claude:{}", id(1));
    world.rejoin(["resume", &claude, "--copy", "2"]).code(0);
    assert_eq!(launched(&world).cwd, world.dir("alpha"));
    let path = world.home().join(".claude/projects").join(claude_slug(world.dir("alpha"))).join(id(1) + ".jsonl");
    world.rejoin(["resume", &claude, "--copy", path.to_str().expect("a path")]).code(0);
    assert_eq!(launched(&world).cwd, world.dir("alpha"));
    let text = world.rejoin(["resume", &claude, "--copy", "3"]).code(5).stderr();
    assert!(text.contains("has no copy 3; it has 2"), "{text}");
    world.rejoin(["resume", &claude, "--copy", "0"]).code(2);
    assert!(world.launched().is_none());
}

#[test]
fn resume_refuses_copy_that_agent_would_not_open() {
    let world = World::with_agents();
    let (app, other) = (world.dir("app"), world.dir("other"));
    let talk = Claude::session(id(1)).in_dir(&app).turn("start", "started");
    world.add(talk.clone().turn("more", "done"));
    let stray = world.add(talk.filed_under(claude_slug(&other)));
    let name = format!("claude:{}", id(1));
    for options in [&["--copy", "2"][..], &["--copy", "2", "--trust"], &["--copy", stray.to_str().expect("a text")]] {
        for format in [None, Some("--print"), Some("--json")] {
            let args = ["resume", &name].into_iter().chain(options.iter().copied()).chain(format);
            let answer = world.rejoin(args).code(7);
            if format == Some("--json") {
                assert_eq!(answer.plan().refusals[0].code, "other-copy");
                continue;
            }
            let stderr = answer.stderr();
            let why = format!("in {} claude would continue copy 1 of session {}, not copy 2\n", app.display(), id(1));
            assert!(stderr.contains(&why), "{stderr}");
            assert!(stderr.contains(&format!("its project {}: ", claude_slug(&other))), "{stderr}");
            let typed = options[2..].iter().copied().chain(format).map(|option| format!(" {option}"));
            let command = format!("`rejoin resume {name} --copy 2{} --in .`", typed.collect::<String>());
            assert!(stderr.contains(&command), "{stderr}");
        }
    }
    assert!(world.launched().is_none());
    let stdout = world.rejoin(["show", &name, "--copy", "2"]).code(0).stdout();
    assert!(stdout.contains("copy 2: ") && stdout.contains("chosen: you asked for copy 2"), "{stdout}");
    // The other copy is opened, and this one from its own directory, and each keeps its number.
    let stderr = world.rejoin(["resume", &name, "--copy", "1"]).code(0).stderr();
    assert!(stderr.contains("because you asked for copy 1"), "{stderr}");
    assert_eq!(launched(&world).cwd, app);
    world.from(&other).rejoin(["resume", &name, "--copy", "2", "--in", "."]).code(0);
    assert_eq!(launched(&world).cwd, other);
    std::fs::remove_file(
        world.home().join(".claude/projects").join(claude_slug(&app)).join(format!("{}.jsonl", id(1))),
    )
    .expect("a removal");
    let stderr = world.rejoin(["resume", &name]).code(7).stderr();
    assert!(stderr.contains(&format!("`rejoin resume {name} --trust`")), "{stderr}");
}

#[test]
fn resume_does_not_prefer_newer_but_shorter_copy() {
    let world = World::with_agents();
    let (alpha, beta) = (world.dir("alpha"), world.dir("beta"));
    world.add(Claude::session(id(1)).in_dir(&alpha).turn("one", "1").turn("two", "2").turn("three", "3"));
    world.add(Claude::session(id(1)).in_dir(&beta).at("2026-02-20T10:00:00Z").turn("stub of a wrong resume", "hm"));
    let error = world.rejoin(["resume", &id(1), "--json"]).code(6).error();
    assert_eq!((error.code.as_str(), error.candidates.len()), ("ambiguous-copy", 2));
    let [first, second] = error.candidates.as_slice() else { panic!("two candidates") };
    assert_eq!((first.messages, second.messages), (Some(2), Some(6)));
    assert_eq!((first.copy, second.copy), (Some(1), Some(2)));
    assert_eq!(second.differs.as_deref(), Some("has no record in common with the first copy"));
    assert!(world.launched().is_none());
}

#[test]
fn different_conversations_with_one_id_are_ambiguous() {
    let world = World::with_agents();
    let (alpha, beta) = (world.dir("alpha"), world.dir("beta"));
    world.add(Claude::session(id(1)).in_dir(&alpha).turn("bake a cake", "Baked."));
    let newer = Claude::session(id(1)).in_dir(&beta).at("2026-02-20T10:00:00Z").turn("paint the fence", "Painted.");
    world.add(newer.turn("again", "Twice."));
    let listed = world.rejoin(["list", "--json"]).sessions().remove(0);
    assert!(!listed.resumable && listed.copies.iter().all(|copy| !copy.chosen), "{:?}", listed.copies);
    let error = world.rejoin(["resume", &id(1), "--json"]).code(6).error();
    assert_eq!((error.code.as_str(), error.candidates.len()), ("ambiguous-copy", 2));
    assert_eq!(error.candidates[1].differs.as_deref(), Some("has no record in common with the first copy"));
    assert!(world.launched().is_none());
    world.rejoin(["resume", &id(1), "--copy", "2"]).code(0);
    assert_eq!(launched(&world).cwd, alpha);
}

#[test]
fn ambiguous_id_prefix_lists_all_candidates() {
    let world = World::with_agents();
    let dir = world.dir("alpha");
    for end in ["1", "2"] {
        world.add(Claude::session(format!("aaaaaaaa-0000-4000-8000-00000000000{end}")).in_dir(&dir).turn("x", "y"));
    }
    let error = world.rejoin(["resume", "aaaaaaaa", "--json"]).code(6).error();
    assert_eq!(error.candidates.len(), 2);
    world.rejoin(["resume", "aaaaaaaa-0000-4000-8000-000000000001"]).code(0);
}

#[test]
fn resume_refuses_missing_directory_with_alternatives() {
    let world = World::with_agents();
    let repository = world.dir("repo");
    std::fs::create_dir_all(repository.join(".git/worktrees/feature")).expect("a directory");
    let worktree = world.dir("trees/feature");
    put(&repository.join(".git/worktrees/feature/gitdir"), format!("{}\n", worktree.join(".git").display()));
    world.add(Claude::session(id(1)).in_dir(&worktree).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&repository).turn("x", "y"));
    std::fs::remove_dir(&worktree).expect("a directory to remove");

    let text = world.rejoin(["resume", &id(1)]).code(7).stderr();
    assert!(text.contains("does not exist"), "{text}");
    let offered = format!("--in {}`  (the main checkout of that worktree)", repository.display());
    assert!(text.contains(&offered), "{text}");
    let plan: contract::ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!(plan.launch_dir.expect("a directory").exists, Some(false));
    assert_eq!(plan.refusals[0].code, "missing-directory");
    world.rejoin(["resume", &id(1), "--in", repository.to_str().expect("a path")]).code(0);
    assert_eq!(launched(&world).cwd, repository);
}

#[test]
fn resume_finds_moved_project_by_git_remote() {
    let world = World::with_agents();
    let (old, new) = (world.dir("old/app"), world.root().join("new-app"));
    put(&old.join(".git/config"), "[remote \"origin\"]\n\turl = git@host:ana/app.git\n");
    world.add(Claude::session(id(1)).in_dir(&old).turn("x", "y"));
    world.rejoin(["resume", &id(1)]).code(0);
    launched(&world);
    std::fs::rename(&old, &new).expect("a move");
    world.add(Claude::session(id(2)).in_dir(&new).turn("x", "y"));
    let text = world.rejoin(["resume", &id(1)]).code(7).stderr();
    assert!(text.contains(&format!("--in {}`  (a checkout of the same git remote)", new.display())), "{text}");
}

#[test]
fn move_suggests_each_candidate_of_moved_project() {
    let world = World::with_agents();
    let (shop, plain) = (world.dir("work/shop"), world.dir("work/plain"));
    for n in 1..=3 {
        world.add(Claude::session(id(n)).in_dir(&shop).turn("mend the till", "done"));
    }
    world.add(Claude::session(id(4)).in_dir(&plain).turn("paint it", "done"));
    world.add(Claude::session(id(5)).in_dir(world.dir("a")).turn("x", "y"));
    world.add(Claude::session(id(6)).in_dir(world.dir("b")).turn("x", "y"));
    for dir in [&shop, &plain] {
        std::fs::remove_dir(dir).expect("a removal");
    }
    let candidates = [world.dir("a/shop"), world.dir("b/shop")];
    let moves = candidates.each_ref().map(|to| format!("rejoin move {} {}", shop.display(), to.display()));
    let anywhere = format!("rejoin move {} NEW_DIR", plain.display());
    for args in [&["resume", &id(1)][..], &["show", &id(1)], &["doctor"]] {
        let answer = world.rejoin(args.iter().copied()).code_is_one_of(&[0, 4, 7]);
        let output = answer.stdout() + &answer.stderr();
        for command in &moves {
            assert!(output.contains(command.as_str()), "{args:?}: {output}");
        }
        assert!(output.contains("all 3 sessions follow"), "{args:?}: {output}");
        assert!(!output.contains(&format!("best: {}", candidates[0].display())), "{args:?}: {output}");
    }
    for args in [&["resume", &id(4)][..], &["show", &id(4)], &["doctor", &id(4)]] {
        let answer = world.rejoin(args.iter().copied()).code_is_one_of(&[0, 4, 7]);
        let output = answer.stdout() + &answer.stderr();
        assert!(output.contains(&anywhere), "{args:?}: {output}");
    }
    let mut seat = shell(&world, &format!("resume {}", "till"));
    seat.shows(&format!("3 of {} sessions", 6));
    seat.types("\r");
    let screen = seat.shows("lets all 3 sessions follow");
    assert!(screen.contains("rejoin move"), "{screen}");
    seat.types("\x1b\x1b");
    // The new place has no session, or an unrelated one. The missing directory is mentioned in both cases.
    let note = format!(
        "3 sessions worked in {}, which is gone; if it was moved here, `{}` lets them follow.",
        shop.display(),
        moves[0]
    );
    let error = world.from(&candidates[0]).rejoin(["resume", "."]).code(5).stderr();
    assert!(error.contains(&note), "{error}");
    world.add(Claude::session(id(7)).in_dir(&candidates[0]).turn("unrelated", "done"));
    let dir = candidates[0].to_str().expect("a text");
    let stderr = world.on_terminal(200, ["list", "--dir", dir]).code(0).stderr();
    assert!(stderr.contains(&note), "{stderr}");
    let stderr = world.on_terminal(200, ["list", "--dir", world.dir("a").to_str().expect("a text")]).code(0).stderr();
    assert!(!stderr.contains("which is gone"), "{stderr}");
    world.rejoin(["move", shop.to_str().expect("a text"), dir, "--yes"]).code(0);
    let stderr = world.on_terminal(200, ["list", "--dir", dir]).code(0).stderr();
    assert!(!stderr.contains("which is gone"), "{stderr}");
}

#[test]
fn resume_distrusts_a_directory_contradicting_the_store() {
    let world = World::with_agents();
    let (alpha, beta) = (world.dir("alpha"), world.dir("beta"));
    world.add(Claude::session(id(1)).in_dir(&beta).filed_under(claude_slug(&alpha)).turn("planted", "yes"));
    let error = world.rejoin(["resume", &id(1)]).code(7).stderr();
    let command = format!("start there with `rejoin resume claude:{} --trust`", id(1));
    assert!(error.contains(&command), "{error}");
    assert!(world.launched().is_none());
    world.rejoin(["resume", &id(1), "--trust"]).code(0);
    assert_eq!(launched(&world).cwd, beta);

    let mismatched =
        Amplifier::session(id(2)).in_dir(&alpha).turn("x", "y").metadata("working_dir", "/no/where".into());
    world.add(mismatched.session_info(&beta));
    // Amplifier searches for a session in the session's own directory only.
    let error = world.rejoin(["resume", &id(2)]).code(7).stderr();
    assert!(error.contains(" --trust`") && !error.contains(" --in "), "{error}");
    assert!(world.launched().is_none());
}

#[test]
fn misfiled_session_has_one_directory_in_every_command() {
    let world = World::with_agents();
    let (alpha, beta) = (world.dir("alpha"), world.dir("beta"));
    world.add(Claude::session(id(1)).in_dir(&alpha).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&beta).filed_under(claude_slug(&alpha)).turn("x", "y"));
    let listed = world.rejoin(["list", &id(2), "--json"]).sessions().remove(0);
    let shown = world.rejoin(["show", &id(2), "--json"]).code(0).json::<contract::Details>().session;
    for session in [listed, shown] {
        assert_eq!(session.launch_path(), beta.to_str());
        assert!(!session.resumable && session.health.contains(&"misfiled-session".to_owned()), "{session:?}");
    }
    world.rejoin(["resume", &id(2)]).code(7);
}

#[test]
fn titles_and_tags_with_slash_name_session() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr").turn("feat/login: fix src/main.rs", "y"));
    world.add(Claude::session(id(2)).in_dir("/usr").turn("other", "y"));
    world.rejoin(["tag", &id(1), "+a/b"]).code(0);
    let path = world.rejoin(["show", "--path", &id(1)]).code(0).stdout();
    for words in ["feat/login", "src/main.rs", "tag:a/b"] {
        assert_eq!(world.rejoin(["show", "--path", words]).code(0).stdout(), path, "{words}");
    }
    let stderr = world.rejoin(["show", "--path", "no/where"]).code(5).stderr();
    assert!(stderr.contains("no/where does not exist"), "{stderr}");
    assert!(stderr.contains("run `rejoin search no/where --pick` to find it in the messages"), "{stderr}");
    world.rejoin(["show", "--path", "./src/main.rs"]).code(5);
}

#[test]
fn pasted_text_names_session_only_by_its_id() {
    let world = World::with_agents();
    let path = world.add(Claude::session(id(1)).in_dir("/usr").turn("mend the trawl", "mended"));
    let named = |text: &str| world.rejoin(["show", "--path", text]);
    let uuid = id(1);
    let digits = uuid.replace('-', "");
    for text in [
        format!("claude --resume={uuid}"),
        format!("cd /tmp && claude --resume '{uuid}' --model opus"),
        format!("https://example.org/threads/{uuid}?tab=1"),
        format!("{uuid}.jsonl"),
        format!("[{uuid}]"),
        digits,
    ] {
        assert_eq!(named(&text).code(0).stdout().trim(), path.to_string_lossy(), "{text}");
    }
    // A path that is gone, and a copy elsewhere, are not the session of the store.
    named(&format!("gone/{uuid}.jsonl")).code(5);
    let backup = world.dir("backup");
    std::fs::copy(&path, backup.join(format!("{uuid}.jsonl"))).expect("a copy");
    world.from(&backup).rejoin(["show", "--path", &format!("{uuid}.jsonl")]).code(5);
    // The option of an unknown session leaves out nothing, so that the only session of Claude Code is not the answer.
    for text in [&format!("claude --resume={}", id(2)), "claude --continue", "claude -c", "claude --resume=mend"] {
        let refused = named(text).code(5).stderr();
        assert!(text.contains(&id(2)) || refused.contains("hint: use the id alone"), "{refused}");
        world.rejoin(["resume", text, "--print"]).code(5);
        world.rejoin(["delete", text, "--dry-run"]).code(5);
    }
}

#[test]
fn list_recognizes_torn_empty_and_sidechain_files() {
    let world = World::with_agents();
    let dir = world.dir("alpha");
    world.add(Claude::session(id(1)).in_dir(&dir).turn("x", "y").turn("half", "of it").torn());
    world.add(Claude::session(id(2)).in_dir(&dir));
    world.add(Claude::session(id(3)).in_dir(&dir).title("only a name"));
    world.add(Claude::session(id(4)).in_dir(&dir).turn("x", "y").flat_subagent("agent-1a2b3c4d", "look", "seen"));
    // A directory whose transcript is missing, and a transcript that another agent's configuration file does not list.
    let orphan =
        world.add(Claude::session(id(5)).in_dir(&dir).turn("x", "y").subagent("agent-5e6f7a8b", "look", "seen"));
    std::fs::remove_file(orphan).expect("a file to remove");
    put(&world.home().join(".claude.json"), r#"{"projects": {}}"#);
    let ids: Vec<String> = world.rejoin(["list", "--json"]).code(0).sessions().into_iter().map(|s| s.id).collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    world.rejoin(["resume", &id(5)]).code(5);
    assert!(ids.contains(&id(1)) && ids.contains(&id(4)));
    let answer = world.rejoin(["resume", &id(1)]).code(0);
    assert!(answer.stderr().contains("cut off"), "{}", answer.stderr());
    assert!(world.launched().is_some());
    for other in [&id(2), &id(3), "agent-1a2b3c4d"] {
        world.rejoin(["resume", other]).code(7);
        assert!(world.launched().is_none(), "{other}");
    }
}

#[test]
fn directories_with_same_slug_keep_their_sessions() {
    let world = World::with_agents();
    let (under, dash) = (world.dir("my_proj"), world.dir("my-proj"));
    assert_eq!(claude_slug(&under), claude_slug(&dash));
    world.add(Claude::session(id(1)).in_dir(&under).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&dash).turn("x", "y"));
    for (session, dir) in [(id(1), &under), (id(2), &dash)] {
        world.rejoin(["resume", &session]).code(0);
        assert_eq!(launched(&world).cwd, *dir);
    }
}

#[test]
fn resume_names_the_missing_program() {
    let world = World::new();
    let dir = world.dir("alpha");
    world.add(Claude::session(id(1)).in_dir(&dir).turn("x", "y"));
    world.add(Amplifier::session(id(2)).in_dir(&dir).turn("x", "y"));
    assert_eq!(world.rejoin(["list", "--json"]).code(0).sessions().len(), 2);
    let text = world.rejoin(["resume", &id(1)]).code(127).stderr();
    assert!(text.contains("cannot find the program claude"), "{text}");
}

#[test]
fn copy_from_wrong_amplifier_resume_does_not_win() {
    let world = World::with_agents();
    let (alpha, beta) = (world.dir("alpha"), world.dir("beta"));
    world.add(Amplifier::session(id(1)).in_dir(&alpha).turn("x", "y").session_info(&alpha));
    let stray = Amplifier::session(id(1)).in_dir(&alpha).filed_under(amplifier_slug(&beta));
    world.add(stray.at("2026-02-20T10:00:00Z").turn("later", "z").events_only());
    world.rejoin(["resume", &id(1)]).code(0);
    assert_eq!(launched(&world).cwd, alpha);
}

#[test]
fn resume_refuses_sixth_start_in_a_minute() {
    let world = World::with_agents();
    let dir = world.dir("alpha");
    world.add(Claude::session(id(1)).in_dir(&dir).turn("x", "y"));
    world.rejoin(["resume", "--last-launch"]).code(5);
    for _ in 0..5 {
        world.rejoin(["resume", &id(1)]).code(0);
    }
    launched(&world);
    let text = world.rejoin(["resume", &id(1)]).code(7).stderr();
    assert!(text.contains("resumed 5 times in the last minute") && text.contains("wait 1min,"), "{text}");
    assert!(world.launched().is_none());
    world.with("REJOIN_NOW", "2026-03-01T12:01:00Z").rejoin(["resume", &id(1)]).code(0);
    world.rejoin(["resume", &id(1), "--no-limit", "--", "--model", "m"]).code(0);
    let last: contract::LastLaunch = world.rejoin(["resume", "--last-launch", "--json"]).code(0).json();
    assert_eq!(last.argv, ["claude", "--resume", &id(1), "--model", "m"]);
    assert_eq!(last.dir, dir.to_str().expect("a path"));
}

#[test]
fn resume_never_passes_prompt_as_option() {
    let world = World::with_agents();
    let dir = world.dir("alpha");
    world.add(Claude::session(id(1)).in_dir(&dir).turn("x", "y"));
    world.add(Amplifier::session(id(2)).in_dir(&dir).turn("x", "y"));
    let hostile = "--help $(touch x); `y`\n'";
    world.rejoin(["resume", &id(1), "--prompt", hostile, "--", "--model", "m"]).code(0);
    assert_eq!(launched(&world).argv, ["claude", "-p", "--resume", &id(1), "--model", "m", "--", hostile]);
    world.rejoin(["resume", &id(2), "--prompt", "go on"]).code(0);
    assert_eq!(launched(&world).argv, ["amplifier", "run", "--resume", &id(2), "go on"]);
    world.rejoin(["resume", &id(1), "--prompt", " "]).code(2);
    assert!(world.launched().is_none());
}

#[test]
fn id_beats_title_and_list_number() {
    let world = World::with_agents();
    let (alpha, beta) = (world.dir("alpha"), world.dir("beta"));
    world.add(Claude::session(id(1)).in_dir(&alpha).turn("x", "y").title("Fix the parser"));
    world.add(
        Claude::session(id(2)).in_dir(&beta).at("2026-02-20T10:00:00Z").turn("x", "y").title("Fix the parser again"),
    );
    let dir = |selector: &str| {
        world.rejoin(["resume", selector]).code(0);
        launched(&world).cwd
    };
    assert_eq!(dir("Fix the parser"), alpha);
    assert_eq!(dir("parser again"), beta);
    assert_eq!(dir("1"), beta);
    assert_eq!(dir("2"), alpha);
    world.rejoin(["resume", "parser"]).code(6);
    // The name of the world's directory is random, and shorter.
    world.rejoin(["resume", "1234567"]).code(5);
    let text = world.rejoin(["backfill", "1"]).code(2).stderr();
    assert!(text.contains("number in the list"), "{text}");
}

#[test]
fn resume_passes_hostile_id_as_argument_or_refuses() {
    let world = World::with_agents();
    let evil = world.dir("a;b $(touch x)");
    for name in ["--help", "$(touch x)", "a;b"] {
        world.add(Amplifier::session(name).in_dir(&evil).turn("x", "y"));
    }
    world.rejoin(["resume", "amplifier:--help"]).code(7);
    assert!(world.launched().is_none());
    for name in ["$(touch x)", "a;b"] {
        world.rejoin(["resume", name]).code(0);
        let launch = launched(&world);
        assert_eq!(launch.argv, ["amplifier", "session", "resume", name]);
        assert_eq!(launch.cwd, evil);
    }
    for selector in ["../../x", "no\nsuch", &"x".repeat(10_000)] {
        world.rejoin(["resume", selector]).code(5);
    }
    assert!(!evil.join("x").exists() && !world.dir("elsewhere").join("x").exists());
}

#[test]
fn show_explains_refused_resume_with_remedy() {
    let world = World::with_agents();
    let (alpha, beta, gone) = (world.dir("alpha"), world.dir("beta"), world.dir("gone"));
    world.add(Claude::session(id(1)).in_dir(&alpha).turn("x", "y"));
    world.add(Claude::session(id(2)).in_dir(&beta).filed_under("-somewhere-else").turn("x", "y"));
    world.add(Claude::session(id(3)).in_dir(&gone).turn("x", "y"));
    world.add(Claude::session(id(4)).in_dir(&alpha).turn("one", "1"));
    world.add(Claude::session(id(4)).in_dir(&beta).turn("two", "2"));
    std::fs::remove_dir(&gone).expect("a directory to remove");
    let resume = |n| {
        let shown = world.rejoin(["show", &id(n)]).code(0).stdout();
        shown.split_once("\n  resume  ").expect("a line").1.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(resume(1), format!("cd {} && claude --resume {}", alpha.display(), id(1)));
    for (n, why, way) in [
        (2, "is not the directory of its project", "--trust`"),
        (3, "does not exist", "--in .`"),
        (4, "has 2 copies", "--copy 1`"),
    ] {
        let stderr = resume(n);
        assert!(stderr.starts_with("refused: ") && stderr.contains(why), "{stderr}");
        assert!(stderr.contains(&format!("`rejoin resume claude:{} {way}", id(n))), "{stderr}");
        assert!(!stderr.contains("&& claude"), "{stderr}");
        let refused = world.rejoin(["resume", &id(n)]);
        let error = refused.stderr();
        let first = error.lines().next().and_then(|line| line.strip_prefix("error: ")).expect("an error");
        assert!(stderr.contains(first), "{stderr}: {error}");
    }
}

#[test]
fn picker_opens_for_ambiguous_copies() {
    let world = World::with_agents();
    let (alpha, beta) = (world.dir("alpha"), world.dir("beta"));
    world.add(Claude::session(id(1)).in_dir(&alpha).turn("bake a cake", "Baked."));
    let newer = Claude::session(id(1)).in_dir(&beta).at("2026-02-20T10:00:00Z").turn("paint the fence", "Painted.");
    world.add(newer.turn("again", "Twice."));
    let mut seat = shell(&world, &format!("resume {}", id(1)));
    seat.shows("copy 1: ");
    seat.shows("beta, 4 messages, ");
    seat.shows("alpha, 2 messages, 2026-02-01; has no");
    seat.types("\x1b[B\r");
    assert_eq!(seat.ends().0, Some(0));
    assert_eq!(launched(&world).cwd, alpha);

    let mut seat = shell(&world, &format!("resume {}", id(1)));
    seat.shows("copy 1: ");
    seat.types("\x1b");
    assert_eq!(seat.ends().0, Some(130));
}

#[test]
fn ambiguous_name_opens_picker_for_every_command() {
    for (args, enter) in [
        ("show --path same", "print path"),
        ("show same", "show"),
        ("export same", "export"),
        ("archive same", "archive"),
        ("rename same other", "rename"),
        ("delete same --copy 2", "delete a copy"),
        ("delete same", "delete"),
        ("pin same", "pin"),
        ("doctor same", "check"),
    ] {
        let world = World::with_agents();
        for n in 1..=2 {
            world.add(Claude::session(id(n)).in_dir(world.dir("app")).title(&format!("same {n}")).turn("x", "y"));
        }
        let mut seat = shell(&world, args);
        seat.shows("2 of 2 sessions");
        seat.shows(&format!("enter {enter}"));
        seat.types("\x1b");
        assert_eq!(seat.ends().0, Some(130), "{args}");
    }
}

#[test]
fn words_in_no_title_open_message_search() {
    let world = World::with_agents();
    let talk = Claude::session(id(1)).in_dir(world.dir("app")).title("Mail");
    world.add(talk.turn("why is it slow?", "I flush the queue of the relay now."));
    for args in ["resume relay", "show flush the queue", "export \"flush the queue\"", "delete relay"] {
        let mut seat = shell(&world, args);
        seat.shows("1 by its messages");
        seat.types("\x1b");
        assert_eq!(seat.ends().0, Some(130), "{args}");
    }
    let error = world.rejoin(["export", "flush the queue", "--json"]).code(5).error();
    let hint = error.hint.unwrap_or_default();
    assert!(hint.contains("`rejoin search flush the queue --pick`"), "{hint}");
    let error = world.rejoin(["resume", "claude:it's", "--json"]).code(5).error();
    let hint = error.hint.unwrap_or_default();
    assert!(hint.contains("`rejoin search --agent claude \"it's\" --pick`"), "{hint}");
    // A mistyped title and the prefix of an id have a better answer.
    for (args, said) in [("show Mali", "are the closest"), ("show 31c5", "rejoin list --all")] {
        let (status, screen) = shell(&world, args).ends();
        assert_eq!(status, Some(5), "{screen}");
        assert!(screen.contains(said), "{screen}");
    }
}
