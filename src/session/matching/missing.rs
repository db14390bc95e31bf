//! Finds the part of a query that no session matches.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{MatchedTexts, Query, Unmatched, Word, no_tag};
use crate::session::nearly::nearest;
use crate::session::terms::fold::folded;

/// Minimum length of a word for a suggestion: a shorter word is similar to too many others.
const SHORTEST: usize = 4;

impl Query {
    /// Returns the first filter that no session passes.
    pub(crate) fn unmatched_filter(&self, subjects: &[&MatchedTexts]) -> Option<Unmatched> {
        let all = || subjects.iter().copied();
        let has_tag = |tag: &&String| all().any(|subject| subject.tags.iter().any(|known| self.is_meant(tag, known)));
        if let Some(tag) = self.tags.iter().find(|tag| !has_tag(tag)) {
            return Some(no_tag(tag, all().flat_map(|subject| &subject.tags).map(String::as_str), "tag:"));
        }
        let is_in = |dir: &&String| all().any(|subject| subject.dirs.iter().any(|recorded| recorded.contains(*dir)));
        if let Some(dir) = self.dirs.iter().find(|dir| !is_in(dir)) {
            let names: BTreeSet<&str> =
                all().flat_map(|subject| &subject.dirs).flat_map(|dir| dir.split('/')).collect();
            let near = nearest(dir, names.into_iter().filter(|name| name.len() >= SHORTEST));
            let unmatched = Unmatched::new(format!("no directory has {dir} in its path"));
            return Some(unmatched.near(near.map(|near| format!("dir:{near}"))));
        }
        let has_mark = |mark: &&String| all().any(|subject| subject.marks.iter().any(|known| known.starts_with(*mark)));
        if let Some(mark) = self.marks.iter().find(|mark| !has_mark(mark)) {
            return Some(Unmatched::new(format!("no session has the mark {mark}")));
        }
        let agents = self.agents.as_ref()?;
        let is_of = |subject: &MatchedTexts| agents.contains(&subject.agent);
        let names: Vec<&str> = agents.iter().map(|agent| agent.name()).collect();
        let none = || Unmatched::new(format!("{} has no session here", names.join(" or ")));
        (!agents.is_empty() && !all().any(is_of)).then(none)
    }

    /// Returns the first word that no session has in its title, first prompt, directory, agent, id or marks.
    pub(crate) fn unmatched_word(&self, subjects: &[&MatchedTexts]) -> Option<Unmatched> {
        let is_missing = |word: &&Word| !subjects.iter().any(|subject| word.best_in(subject).is_some());
        let word = self.words.iter().find(is_missing)?;
        let texts =
            subjects.iter().flat_map(|subject| [&subject.title.folded, &subject.dir.folded, &subject.labels.folded]);
        let words: BTreeSet<&str> = texts.flat_map(|text| text.split(|c: char| !c.is_alphanumeric())).collect();
        let words = words.into_iter().filter(|word| word.chars().count() >= SHORTEST);
        let near = if word.letters < SHORTEST { None } else { nearest(&folded(&word.text), words) };
        let unmatched =
            Unmatched::new(format!("no session has {:?} in its title, first prompt or directory", word.text));
        Some(unmatched.near(near.map(str::to_owned)))
    }

    /// Returns the limits on the time of activity: since and before.
    pub(crate) fn times(&self) -> (Option<Timestamp>, Option<Timestamp>) {
        (self.since, self.before)
    }

    /// Returns the query without its times.
    pub(crate) fn without_times(&self) -> Self {
        let mut query = self.clone();
        (query.since, query.before) = (None, None);
        query
    }
}
