//! oh-my-pi's sessions: the title before the header, sub-agents in a folder, forks by id, and files compressed by `omp
//! gc`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::archive::{APP, archive_and_restore};
use crate::contract::{Details, Kind, ResumePlan, Session};
use crate::fixtures::{id, lines, put};
use crate::undo::delete_and_undo;
use crate::world::World;

const STAMP: &str = "2026-02-01T10-00-00-000Z";

fn title(text: &str) -> Value {
    json!({"type": "title", "v": 1, "title": text, "source": "user", "updatedAt": "2026-02-01T10:00:00.000Z", "pad": " ".repeat(60)})
}

fn header(id: &str, dir: &str) -> Value {
    json!({"type": "session", "version": 3, "id": id, "timestamp": "2026-02-01T10:00:00.000Z", "cwd": dir})
}

fn message(n: u32, message: &Value) -> Value {
    let parent = n.checked_sub(1).filter(|n| *n > 0).map(|n| format!("{n:08x}"));
    let at = format!("2026-02-01T10:{n:02}:00.000Z");
    json!({"type": "message", "id": format!("{n:08x}"), "parentId": parent, "timestamp": at, "message": message})
}

fn prompt(n: u32, text: &str) -> Value {
    message(n, &json!({"role": "user", "content": [{"type": "text", "text": text}], "attribution": "user"}))
}

pub(crate) fn reply(n: u32, text: &str) -> Value {
    message(
        n,
        &json!({"role": "assistant", "content": [{"type": "text", "text": text}], "model": "model-o", "stopReason": "stop"}),
    )
}

/// Returns a session without a title, with one prompt and its reply.
pub(crate) fn turn(id: &str, dir: &str) -> Vec<Value> {
    vec![title(""), header(id, dir), prompt(1, "look"), reply(2, "ok")]
}

fn project(world: &World, project: &str) -> PathBuf {
    world.home().join(".omp/agent/sessions").join(project)
}

/// Writes a session to its file, and returns the file.
pub(crate) fn add(world: &World, name: &str, id: &str, records: &[Value]) -> PathBuf {
    let path = project(world, name).join(format!("{STAMP}_{id}.jsonl"));
    put(&path, lines(records));
    path
}

/// Adds a sub-agent of a session, named after its work.
fn add_subagent(parent: &Path, id: &str, dir: &str) -> PathBuf {
    let mut head = header(id, dir);
    head["parentSession"] = json!(parent);
    let task = message(1, &json!({"role": "user", "content": "count the files", "attribution": "agent"}));
    let folder = parent.with_extension("");
    put(&folder.join("Looker.md"), "three");
    put(&folder.join("1.bash.log"), "a long output");
    let path = folder.join("Looker.jsonl");
    put(&path, lines(&[title(""), head, task, reply(2, "three")]));
    path
}

fn listed(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).stderr_eq("").sessions()
}

#[test]
fn title_comes_from_record_before_header() {
    let world = World::new();
    let dir = world.dir("home/work/app").display().to_string();
    let error = message(3, &json!({"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "400"}));
    add(
        &world,
        "-work-app",
        &id(1),
        &[title("Parser"), header(&id(1), &dir), prompt(1, "fix it"), reply(2, "Done."), error],
    );
    add(&world, "-work-app", &id(2), &turn(&id(2), &dir));
    let sessions = listed(&world);
    let named = sessions.iter().find(|session| session.id == id(1)).expect("the first");
    assert_eq!((named.title.as_deref(), named.first_prompt.as_deref()), (Some("Parser"), Some("fix it")));
    assert_eq!((named.prompts, named.replies), (Some(1), Some(1)), "an error of the API is no reply");
    assert_eq!((named.launch_path(), named.launch_source()), (Some(&*dir), Some("header")));
    assert_eq!((named.model.as_deref(), named.health.as_slice()), (Some("model-o"), &[][..]));
    let other = sessions.iter().find(|session| session.id == id(2)).expect("the second");
    assert_eq!((other.title.as_deref(), other.kind), (None, Kind::Main));
}

#[test]
fn forks_and_sub_agents_have_parents() {
    let world = World::new();
    let parent = add(&world, "--usr-bin--", &id(1), &turn(&id(1), APP));
    let mut fork = turn(&id(2), APP);
    fork[1]["parentSession"] = json!(id(1));
    add(&world, "--usr-bin--", &id(2), &fork);
    add_subagent(&parent, &id(3), APP);
    let kinds: Vec<_> = listed(&world).into_iter().map(|it| (it.id, it.kind, it.parent_id, it.prompts)).collect();
    assert_eq!(kinds.len(), 3);
    assert!(kinds.contains(&(id(1), Kind::Main, None, Some(1))), "{kinds:?}");
    assert!(kinds.contains(&(id(2), Kind::Fork, Some(id(1)), Some(1))), "{kinds:?}");
    assert!(kinds.contains(&(id(3), Kind::Subagent, Some(id(1)), Some(0))), "a task is not typed: {kinds:?}");
    let details: Details = world.rejoin(["show", &id(3), "--transcript", "--json"]).code(0).json();
    assert_eq!(details.messages.expect("messages")[0].text, "count the files");
    let refused = world.rejoin(["resume", &id(3)]).code(7);
    assert!(refused.stderr().contains("resume its parent session"), "{}", refused.stderr());
}

#[test]
fn resume_passes_full_id() {
    let world = World::new();
    world.install("omp", "");
    let dir = world.dir("home/app");
    add(&world, "-app", &id(1), &turn(&id(1), dir.to_str().expect("a path")));
    let plan: ResumePlan = world.rejoin(["resume", &id(1)[..10], "--json"]).plan();
    assert_eq!(plan.resume.argv, ["omp", "--resume", &id(1)]);
    assert_eq!(plan.resume.dir.as_deref(), dir.to_str());
    let elsewhere = world.with("PI_CODING_AGENT_DIR", world.dir("both")).rejoin(["resume", &id(1), "--json"]);
    assert_eq!(elsewhere.code(0).json::<ResumePlan>().resume.unset, ["PI_CODING_AGENT_DIR"]);
    world.rejoin(["resume", &id(1), "--prompt", "go on"]).code(0);
    let launch = world.launched().expect("a launch");
    assert_eq!(
        (launch.argv, launch.cwd),
        (["omp", "--resume", &id(1), "-p", "go on"].map(str::to_owned).to_vec(), dir)
    );
}

#[test]
fn profile_is_a_separate_store() {
    let world = World::new();
    let path =
        world.home().join(".omp/profiles/night/agent/sessions/--usr-bin--").join(format!("{STAMP}_{}.jsonl", id(1)));
    put(&path, lines(&turn(&id(1), APP)));
    let plan: ResumePlan = world.rejoin(["resume", &id(1), "--json"]).plan();
    assert_eq!(plan.resume.set.get("OMP_PROFILE").map(String::as_str), Some("night"));
}

#[test]
fn resume_selects_the_data_directory_of_a_session() {
    let world = World::new();
    let data = world.home().join(".local/share");
    for (n, root) in [(1, ".omp/agent"), (2, ".local/share/omp"), (3, ".local/share/omp/profiles/work")] {
        let path = world.home().join(root).join("sessions/--usr-bin--").join(format!("{STAMP}_{}.jsonl", id(n)));
        put(&path, lines(&turn(&id(n), APP)));
    }
    let text = |path: &Path| path.to_str().map(str::to_owned);
    // With the variable, oh-my-pi looks only there; without it, only in ~/.omp (can1357/oh-my-pi 12798).
    for (is_set, unset, set) in [(true, vec!["XDG_DATA_HOME"], None), (false, vec![], text(&data))] {
        let plan = |n: u32| -> ResumePlan {
            let args = ["resume", &id(n), "--json"];
            if is_set { world.with("XDG_DATA_HOME", &data).rejoin(args).plan() } else { world.rejoin(args).plan() }
        };
        assert_eq!(plan(1).resume.unset, unset);
        for n in [2, 3] {
            let resume = plan(n).resume;
            assert_eq!((resume.unset, resume.set.get("XDG_DATA_HOME").cloned()), (vec![], set.clone()), "{n}");
            assert_eq!(resume.set.get("OMP_PROFILE").map(String::as_str), (n == 3).then_some("work"));
        }
    }
}

#[test]
fn list_ignores_files_of_pi_in_shared_directory() {
    let world = World::new();
    let root = world.dir("both");
    let at = |id: &str| root.join("sessions/--usr-bin--").join(format!("{STAMP}_{id}.jsonl"));
    put(&at(&id(1)), lines(&turn(&id(1), APP)));
    put(&at(&id(2)), lines(&turn(&id(2), APP)[1..]));
    let list = world.with("PI_CODING_AGENT_DIR", &root).rejoin(["list", "--agent", "omp", "--json"]).code(0);
    let ids: Vec<String> = list.sessions().into_iter().map(|session| session.id).collect();
    assert_eq!(ids, [id(1)]);
}

#[test]
fn archive_accepts_compressed_session_and_resume_refuses_it() {
    let world = World::new();
    let dir = world.home().join(".omp/agent/archive/sessions/--usr-bin--");
    put(&dir.join(format!("{STAMP}_{}.jsonl.gz", id(1))), [0x1f, 0x8b, 8, 0]);
    put(&dir.join(format!("{STAMP}_{}", id(1))).join("Looker.md"), "three");
    let session = listed(&world).remove(0);
    assert_eq!(
        (session.kind, session.prompts, session.active_source.as_deref()),
        (Kind::Archived, None, Some("mtime"))
    );
    assert_eq!(session.size_bytes, Some(9));
    let refused = world.rejoin(["resume", &id(1), "--in", APP]).code(7);
    assert!(refused.stderr().contains("`omp gc` has closed it"), "{}", refused.stderr());
    delete_and_undo(&world, &id(1));
}

#[test]
fn damaged_session_hides_no_other() {
    let world = World::new();
    add(&world, "--usr-bin--", &id(1), &turn(&id(1), APP));
    let dir = project(&world, "--usr-bin--");
    put(&dir.join(format!("{STAMP}_{}.jsonl", id(2))), b"\0\xff{[");
    put(&dir.join(format!("{STAMP}_{}.jsonl", id(3))), lines(&[title("only a title")]));
    let torn = lines(&turn(&id(4), APP));
    put(&dir.join(format!("{STAMP}_{}.jsonl", id(4))), &torn[..torn.len() - 20]);
    put(&dir.join(format!("{STAMP}_{}", id(1))).join("Looker.jsonl"), "{");
    let list: crate::contract::SessionList = world.rejoin(["list", "--all", "--json"]).code(0).json();
    let health =
        |n: u32| list.sessions.iter().find(|session| session.id == id(n)).map(|session| session.health.clone());
    assert_eq!(health(1), Some(Vec::new()));
    for n in [2, 3] {
        assert!(health(n).is_some_and(|health| health.contains(&"invalid-content".to_owned())), "{n}");
        world.rejoin(["resume", &id(n), "--in", APP]).code(7);
    }
    assert_eq!(health(4), Some(vec!["torn-transcript".to_owned()]));
    assert_eq!(list.problems.len(), 1, "the sub-agent without an id: {:?}", list.problems);
}

#[test]
fn restore_brings_folder_and_images() {
    let world = World::new();
    let (named, other) = ("0a".repeat(32), "0b".repeat(32));
    let mut records = turn(&id(1), APP);
    records.push(message(
        3,
        &json!({"role": "user", "content": [{"type": "image", "data": format!("blob:sha256:{named}")}]}),
    ));
    let parent = add(&world, "--usr-bin--", &id(1), &records);
    add_subagent(&parent, &id(2), APP);
    let blobs = world.home().join(".omp/agent/blobs");
    put(&blobs.join(&named), "an image");
    put(&blobs.join(&other), "another session's");
    delete_and_undo(&world, &id(1));
    std::fs::remove_file(blobs.join(other)).expect("a removed file");
    archive_and_restore(&world, &id(1), 6);
}

#[test]
fn backup_moves_with_its_session() {
    let world = World::new();
    let (old, new) = (world.dir("home/old"), world.dir("home/new"));
    let path = add(&world, "-old", &id(1), &turn(&id(1), old.to_str().expect("a path")));
    let backup = |path: &Path| path.with_extension("jsonl.7411223344.bak");
    let other = path.with_file_name("notes.bak");
    put(&backup(&path), "{}");
    put(&other, "x");
    delete_and_undo(&world, &id(1));
    world.rejoin(["delete", &id(1), "--yes"]).code(0);
    assert!(!backup(&path).exists() && other.exists(), "omp would take it for the session");
    world.rejoin(["undo"]).code(0);
    std::fs::remove_dir(&old).expect("a removed directory");
    world.rejoin(["move", old.to_str().expect("a path"), new.to_str().expect("a path"), "--yes"]).code(0);
    let moved = project(&world, "-new").join(path.file_name().expect("a name"));
    assert!(moved.exists() && backup(&moved).exists() && !backup(&path).exists());
}

#[test]
fn move_skips_session_that_a_process_has_open() {
    let world = World::new().with_processes();
    let (old, new) = (world.dir("home/old"), world.dir("home/new"));
    let path = add(&world, "-old", &id(1), &turn(&id(1), old.to_str().expect("a path")));
    std::fs::remove_dir(&old).expect("a removed directory");
    let moving = ["move", old.to_str().expect("a path"), new.to_str().expect("a path"), "--yes"];
    let open = std::fs::File::options().append(true).open(&path).expect("a writer");
    let answer = world.rejoin(moving);
    assert!(path.exists() && answer.stdout().contains("it is in use by process"), "{}", answer.stdout());
    drop(open);
    world.rejoin(moving).code(0);
    let moved = project(&world, "-new").join(path.file_name().expect("a name"));
    assert!(moved.exists() && !path.exists());
    let open = std::fs::File::options().append(true).open(&moved).expect("a writer");
    world.rejoin(["undo", "--yes"]);
    assert!(moved.exists() && !path.exists(), "it is not moved back, either");
    drop(open);
    world.rejoin(["undo", "--yes"]).code(0);
    assert!(path.exists() && !moved.exists());
}

#[test]
fn move_carries_a_session_with_its_folder() {
    let world = World::new();
    let (old, new) = (world.dir("home/old"), world.dir("home/new"));
    let parent = add(&world, "-old", &id(1), &turn(&id(1), old.to_str().expect("a path")));
    add_subagent(&parent, &id(2), old.to_str().expect("a path"));
    std::fs::remove_dir(&old).expect("a removed directory");
    world.rejoin(["move", old.to_str().expect("a path"), new.to_str().expect("a path"), "--yes"]).code(0);
    let session = listed(&world).into_iter().find(|session| session.id == id(1)).expect("the session");
    assert_eq!((session.launch_path(), session.project.as_deref()), (new.to_str(), Some("-new")));
    assert_eq!(session.health, Vec::<String>::new());
    let folder = project(&world, "-new").join(format!("{STAMP}_{}", id(1)));
    assert!(folder.join("Looker.md").is_file() && !parent.with_extension("").exists());
}
