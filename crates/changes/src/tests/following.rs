//! Items that depend on an earlier item.

use std::path::Path;
use std::time::Duration;

use crate::bounds::Bounds;
use crate::disk::memory::Memory;
use crate::outcome::ItemResult;
use crate::plan::{RunItem, Step};
use crate::state_dir::StateDir;
use crate::tests::scenarios::now;
use crate::undo::{self, Which};
use crate::{disk, run, stamp};

/// Removes `/home/a`, and `/home/b` after it; `look` returns the reason to leave an item alone. Returns the state directory and the
/// results.
fn remove_both(memory: &Memory, look: &dyn Fn(usize) -> Option<String>) -> (StateDir, Vec<ItemResult>) {
    let disk = memory.shared();
    let trash = |path: &str| {
        let (dir, name) = disk::open_parent(&*disk, Path::new(path)).expect("a directory");
        let stamp = stamp::take_on(&*disk, (&dir, &name), Path::new(path)).expect("a stamp");
        [Step::Trash { path: Path::new(path).into(), stamp }]
    };
    let (one, other) = (trash("/home/a"), trash("/home/b"));
    let items = [
        RunItem::new(&"one", "named", &one),
        RunItem { after: Some(0), ..RunItem::new(&"the other", "it follows", &other) },
    ];
    let bounds = ("/home/state".into(), Bounds::everything());
    let state_dir =
        StateDir::open(memory.shared(), bounds, now(), "delete", Duration::ZERO).expect("a state directory");
    let outcome = run::run(&state_dir, ("delete", &items), now(), look, &mut |_| {}).expect("a run");
    (state_dir, outcome.done)
}

fn with_files() -> Memory {
    let memory = Memory::new();
    memory.actor().save_file("/home/a", "one");
    memory.actor().save_file("/home/b", "two");
    memory.settle();
    memory
}

#[test]
fn run_skips_item_after_its_skipped_prerequisite() {
    let memory = with_files();
    let (_, done) = remove_both(&memory, &|number| (number == 0).then(|| "it is in use".to_owned()));
    assert_eq!(done[1], ItemResult::Skipped("it needs one, which was not done".to_owned()));
    assert!(memory.actor().read("/home/b").is_some());
}

#[test]
fn item_is_undone_without_the_one_after_it() {
    let memory = with_files();
    let (state_dir, done) = remove_both(&memory, &|_| None);
    assert_eq!(done, [ItemResult::Done, ItemResult::Done]);
    memory.actor().save_file("/home/b", "three");
    let report = undo::undo(&state_dir, &Which::Newest, |_| true, false, now(), &mut |_| None).expect("a report");
    assert_eq!(report.items[0], ItemResult::Done);
    assert!(matches!(report.items[1], ItemResult::Refused(_)), "{:?}", report.items);
    assert_eq!(memory.actor().read("/home/a").as_deref(), Some(&b"one"[..]));
}
