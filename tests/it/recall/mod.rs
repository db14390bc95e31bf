//! Half-remembered words find the right session: a small version of `cargo bench --bench recall`.

use std::path::Path;

use corpus::Kind;

mod corpus;
mod figures;
mod texts;
mod writers;

#[test]
fn half_remembered_words_find_the_right_session() {
    let home = tempfile::tempdir().expect("a directory");
    let recall = figures::measure(Path::new(env!("CARGO_BIN_EXE_rejoin")), home.path(), 60, 4, 1, &[]);
    let all = recall.all();
    assert!(all.mean() >= 0.9 && all.in_ten == all.queries, "{:.3}: {:#?}", all.mean(), recall.missed);
    let typos = recall.by_kind[&Kind::OneLetterWrong];
    assert_eq!(typos.first, typos.queries, "{:#?}", recall.missed);
    assert_eq!(recall.by_agent.len(), if cfg!(feature = "sqlite") { 10 } else { 8 }, "{:?}", recall.by_agent);
}
