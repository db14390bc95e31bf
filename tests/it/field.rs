//! What users of agents complained about in public, as small homes: what rejoin answers there.

use crate::contract::{Details, Kind, Session};
use crate::fixtures::{Claude, age_to, id, put};
use crate::world::World;

/// A directory that every machine has.
const APP: &str = "/usr/bin";

fn all(world: &World) -> Vec<Session> {
    world.rejoin(["list", "--all", "--counts", "--json"]).code(0).sessions()
}

#[test]
fn records_that_a_compaction_wrote_twice_count_once() {
    let world = World::new();
    let path = world.add(Claude::session(id(1)).in_dir(APP).turn("step one", "1").turn("step two", "2"));
    let old = std::fs::read_to_string(&path).expect("a transcript");
    let newer = old.lines().take(2).collect::<Vec<_>>().join("\n");
    let newer = newer
        .replace("2026-02-01", "2026-02-20")
        .replace("step one", "step three")
        .replace("\"uuid\":\"", "\"uuid\":\"n")
        .replace("\"id\":\"", "\"id\":\"n");
    put(&path, format!("{old}{newer}\n{}", old.replace("\"parentUuid\"", "\"wasParentUuid\"")));
    age_to(&path, "2026-02-21T10:00:00Z".parse().expect("a time"));
    let session = &all(&world)[0];
    assert_eq!((session.prompts, session.replies), (Some(3), Some(3)));
    assert_eq!(session.active_at.as_deref(), Some("2026-02-20T10:01:00Z"), "the newest record is in the middle");
    let shown: Details = world.rejoin(["show", &id(1), "--transcript", "--json"]).code(0).json();
    let texts: Vec<String> = shown.messages.expect("messages").into_iter().map(|message| message.text).collect();
    assert_eq!(texts, ["step one", "1", "step two", "2", "step three", "1"]);
    let last: Details = world.rejoin(["show", &id(1), "--messages", "2", "--json"]).code(0).json();
    let last: Vec<String> = last.messages.expect("messages").into_iter().map(|message| message.text).collect();
    assert_eq!(last, ["step three", "1"]);
    let found = world.rejoin(["search", "step two"]).code(0).stdout();
    assert_eq!(found.matches("step two").count(), 1, "{found}");
    let page = world.rejoin(["export", &id(1), "--format", "markdown"]).code(0).stdout();
    assert_eq!(page.matches("step two").count(), 1, "{page}");
}

#[test]
fn members_of_a_team_are_sub_agents_of_its_lead() {
    let world = World::new();
    let lead = "aaaa0001-0000-4000-8000-000000000001";
    world.add(Claude::session(lead).in_dir(APP).turn("split the module", "I start two teammates."));
    for n in [2, 3] {
        let text = "<teammate-message teammate_id=\"team-lead\">\nwrite the service\n</teammate-message>";
        let path = world.add(Claude::session(id(n)).in_dir(APP).at("2026-02-01T11:00:00Z").turn(text, "On it."));
        let text = std::fs::read_to_string(&path).expect("a transcript");
        put(
            &path,
            text.replace("{\"parentUuid\"", "{\"teamName\":\"session-aaaa0001\",\"agentName\":\"dev\",\"parentUuid\""),
        );
    }
    let listed = world.rejoin(["list", "--json"]).code(0).sessions();
    assert_eq!(listed.iter().map(|session| session.id.as_str()).collect::<Vec<_>>(), [lead]);
    for mate in all(&world).iter().filter(|session| session.id != lead) {
        assert_eq!((mate.kind, mate.parent_id.as_deref()), (Kind::Subagent, Some(lead)));
        assert_eq!(mate.first_prompt.as_deref(), Some("write the service"));
    }
    let resumed = world.rejoin(["resume", "latest", "--print"]).code(0).stdout();
    assert!(resumed.contains(lead), "{resumed}");
    let plan = world.rejoin(["cleanup", "--any-age", "--allow-all", "--dry-run"]).code(0).stdout();
    assert!(plan.contains("1 session with 2 sub-agents would be removed"), "{plan}");
}
