//! Marks of sessions that need attention: those that their agent will soon delete.

use serde_json::Value;

use crate::contract::{Details, DoctorReport};
use crate::fixtures::{Amplifier, Claude, id, put};
use crate::picker::{leaves, open};
use crate::world::World;

/// Adds a session of Claude Code whose transcript was changed just before this world's time.
fn fresh(world: &World, number: u32) {
    let path = world.add(Claude::session(id(number)).in_dir("/usr").at("2026-02-28T10:00:00Z").turn("Write it", "y"));
    let now = "2026-02-28T10:00:00Z".parse::<jiff::Timestamp>().expect("a time");
    let file = std::fs::File::options().append(true).open(path);
    file.and_then(|file| file.set_modified(now.into())).expect("a time");
}

/// Returns the ids of the sessions that a command lists.
fn ids(world: &World, args: &[&str]) -> Vec<String> {
    world.rejoin(args).sessions().into_iter().map(|session| session.id.clone()).collect()
}

#[test]
fn list_marks_session_that_expires_soon() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr").turn("Fix it", "y").subagent("agent-a1", "look", "found"));
    fresh(&world, 2);
    world.add(Amplifier::session(id(3)).in_dir("/usr").session_info("/usr").turn("a", "b"));
    assert_eq!(ids(&world, &["list", "is:expiring", "--all", "--json"]), [id(1)]);
    assert_eq!(ids(&world, &["list", "!is:expiring", "--json"]), [id(2), id(3)]);

    // The same sessions as in the answers of archive and doctor.
    let plan: Value = world.rejoin(["archive", "--expiring", "7", "--dry-run", "--json"]).code(0).json();
    assert_eq!(plan["items"][0]["id"], *id(1));
    let report: DoctorReport = world.rejoin(["doctor", "--check", "expires-soon", "--json"]).code(4).json();
    assert_eq!(report.findings[0].sessions.iter().map(|session| &*session.id).collect::<Vec<_>>(), [id(1)]);

    let listed: Value = world.rejoin(["list", "--json"]).code(0).json();
    for session in listed["sessions"].as_array().expect("sessions") {
        let day = session["expires_at"].as_str().map(|at| &at[..10]);
        assert_eq!(day, (session["id"] == *id(1)).then_some("2026-03-03"), "{session}");
    }
    let table = world.rejoin(["list", "--format", "table", "--wide"]).code(0).stdout();
    assert_eq!(table.matches("expiring").count(), 1, "{table}");
    assert!(world.on_terminal(80, ["list"]).code(0).stderr().contains("d expiring"));
    let shown = world.rejoin(["show", &id(1)]).code(0).stdout();
    assert!(shown.contains("  expires       claude deletes it from 2026-03-03 "), "{shown}");
    assert!(shown.contains(&format!("`rejoin archive claude:{}` keeps it", id(1))), "{shown}");
    let details: Details = world.rejoin(["show", &id(2), "--json"]).code(0).json();
    assert_eq!(details.session.expires_at, None);

    let mut seat = open(&world, 120, 24);
    seat.shows("3 of 3 sessions");
    seat.types("is:expiring");
    seat.shows("1 of 3 sessions");
    seat.shows("claude deletes it within seven days");
    leaves(seat, "\x1b", 130);

    let settings = world.home().join(".claude/settings.json");
    put(&settings, r#"{"cleanupPeriodDays": 10}"#);
    let shown = world.rejoin(["show", &id(1)]).code(0).stdout();
    assert!(shown.contains("claude deletes it when it next starts"), "{shown}");
    // If the client cannot read its settings, it deletes nothing.
    put(&settings, "{");
    assert!(ids(&world, &["list", "is:expiring", "--json"]).is_empty());
}

#[test]
fn list_does_not_mark_archived_session_expiring() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr").turn("Fix it", "y"));
    world.rejoin(["archive", "--expiring", "7"]).code(0);
    let printed = world.rejoin(["list", "--archived", "--format", "table"]).code(0).stdout();
    assert!(printed.contains(&id(1)[..8]) && !printed.contains("expiring"), "{printed}");
}
