//! Invented sessions of several agents, and queries with the one session that each is about.
//!
//! A session is about a few words. It uses them often and in some of their forms, and mentions many others once, like
//! real sessions. A query has some of the words that only one session is about.

use std::collections::{BTreeMap, BTreeSet};

use super::texts::{ENGLISH, GERMAN, Language, SPANISH};

/// The difference between a query and the text of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    AsSaid,
    OtherForm,
    OneLetterWrong,
    Identifier,
    OtherLanguage,
    Phrase,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] =
        [Self::AsSaid, Self::OtherForm, Self::OneLetterWrong, Self::Identifier, Self::OtherLanguage, Self::Phrase];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AsSaid => "words as said",
            Self::OtherForm => "other form",
            Self::OneLetterWrong => "one letter wrong",
            Self::Identifier => "parts of identifiers",
            Self::OtherLanguage => "other languages",
            Self::Phrase => "phrases",
        }
    }
}

/// A message, or the output of a tool.
#[derive(Debug)]
pub(crate) enum Part {
    Turn(String, String),
    Output(String),
}

/// A session, before an agent's fixture writes it.
#[derive(Debug)]
pub(crate) struct Session {
    pub parts: Vec<Part>,
    language: usize,
    /// Numbers of the words that the session is about.
    about: BTreeSet<usize>,
    /// The forms of each of these words in the session.
    used_forms: BTreeMap<usize, BTreeSet<&'static str>>,
    /// Names in its code, as parts.
    names: Vec<[&'static str; 2]>,
    /// Sentences of replies that have two words that the session is about.
    sentences: Vec<String>,
}

/// A query, and the number of the session that must come first.
#[derive(Debug)]
pub(crate) struct Query {
    pub words: Vec<String>,
    pub session: usize,
    pub kind: Kind,
}

const LANGUAGES: [&Language; 3] = [&ENGLISH, &GERMAN, &SPANISH];
/// Two sessions in three are in English.
const TURNS_OF_LANGUAGES: [usize; 6] = [0, 0, 1, 0, 0, 2];

/// Random numbers, always the same ones (splitmix64).
#[derive(Debug)]
pub(crate) struct Random(pub u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % below as u64).unwrap_or_default()
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// Picks some elements of a list, each once.
    fn some<T: Copy>(&mut self, list: &[T], count: usize) -> Vec<T> {
        let mut list = list.to_vec();
        (0..count.min(list.len())).map(|_| list.swap_remove(self.below(list.len()))).collect()
    }
}

/// Returns the forms of a word.
fn forms(language: usize, word: usize) -> Vec<&'static str> {
    LANGUAGES[language].words[word].split(' ').collect()
}

/// Creates sessions.
pub(crate) fn sessions(count: usize, random: &mut Random) -> Vec<Session> {
    (0..count).map(|number| session(TURNS_OF_LANGUAGES[number / 2 % 6], random)).collect()
}

fn session(language: usize, random: &mut Random) -> Session {
    let words = LANGUAGES[language].words.len();
    let mut session = Session {
        parts: Vec::new(),
        language,
        about: BTreeSet::new(),
        used_forms: BTreeMap::new(),
        names: Vec::new(),
        sentences: Vec::new(),
    };
    while session.about.len() < 4 {
        session.about.insert(random.below(words));
    }
    let about: Vec<usize> = session.about.iter().copied().collect();
    // A session uses few of the forms of a word.
    for &word in &about {
        let all = forms(language, word);
        let count = all.len().saturating_sub(1).clamp(1, 2);
        session.used_forms.insert(word, random.some(&all, count).into_iter().collect());
    }
    // Code has English names.
    for _ in 0..2 {
        let mut part = || ENGLISH.words[random.below(ENGLISH.words.len())].split(' ').next().unwrap_or_default();
        session.names.push([part(), part()]);
    }
    for turn in 0..4 + random.below(5) {
        let prompt = session.say(1, false, random);
        let count = 2 + random.below(3);
        let reply = session.say(count, true, random);
        session.parts.push(Part::Turn(prompt, reply));
        if turn % 2 == 0 {
            let output = session.output(turn, random);
            session.parts.push(Part::Output(output));
        }
    }
    session
}

impl Session {
    fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|part| match part {
            Part::Turn(prompt, reply) => [prompt.as_str(), reply.as_str()],
            Part::Output(output) => ["", output.as_str()],
        })
    }

    /// Returns whether the code of the session has a name, in any spelling.
    fn has_name(&self, name: [&str; 2]) -> bool {
        self.texts().any(|text| text.contains(&camel(name)) || text.contains(&name.join("_")))
    }

    fn say(&mut self, sentences: usize, is_reply: bool, random: &mut Random) -> String {
        let language = LANGUAGES[self.language];
        let about: Vec<usize> = self.about.iter().copied().collect();
        let mut text = Vec::new();
        for _ in 0..sentences {
            let frame = random.pick(language.sentences);
            let mut pieces = frame.split("{}");
            let mut sentence = pieces.next().unwrap_or_default().to_owned();
            let mut own = 0;
            for piece in pieces {
                // Half of the words are those that the session is about.
                let word = if random.below(2) == 0 {
                    let word = random.pick(&about);
                    own += 1;
                    let used: Vec<&str> = self.used_forms[&word].iter().copied().collect();
                    random.pick(&used)
                } else {
                    let word = random.below(language.words.len());
                    random.pick(&forms(self.language, word))
                };
                sentence.push_str(word);
                sentence.push_str(piece);
            }
            if is_reply && own >= 2 {
                self.sentences.push(sentence.clone());
            }
            text.push(sentence);
        }
        text.join(" ")
    }

    /// Creates a list of code: names of this session, and of others.
    fn output(&self, turn: usize, random: &mut Random) -> String {
        let mut lines = Vec::new();
        for line in 0..12 {
            let mut word = || ENGLISH.words[random.below(ENGLISH.words.len())].split(' ').next().unwrap_or_default();
            let (a, b, c) = (word(), word(), word());
            let name = if line % 4 == 0 { self.names[turn / 2 % 2] } else { [a, b] };
            let name = if (turn / 2).is_multiple_of(2) { camel(name) } else { name.join("_") };
            lines.push(format!("src/{c}.rs:{}: let {name} = {};", line * 7 + 3, random.below(100)));
        }
        lines.join("\n")
    }
}

fn camel([first, second]: [&str; 2]) -> String {
    let (start, rest) = second.split_at(1);
    format!("{first}{}{rest}", start.to_uppercase())
}

/// Creates this number of queries of each kind.
pub(crate) fn queries(sessions: &[Session], of_each: usize, random: &mut Random) -> Vec<Query> {
    let mut queries = Vec::new();
    for kind in Kind::ALL {
        let mut made = 0;
        // If no session has a query of a kind, the loop must still end.
        for _ in 0..of_each * 1000 {
            let number = random.below(sessions.len());
            if let Some(words) = query(sessions, number, kind, random) {
                queries.push(Query { words, session: number, kind });
                made += 1;
            }
            if made == of_each {
                break;
            }
        }
        assert_eq!(made, of_each, "too few queries: {}", kind.name());
    }
    queries
}

fn query(sessions: &[Session], number: usize, kind: Kind, random: &mut Random) -> Option<Vec<String>> {
    let session = &sessions[number];
    if (session.language == 0) == (kind == Kind::OtherLanguage) {
        return None;
    }
    let about: Vec<usize> = session.about.iter().copied().collect();
    let count = 2 + random.below(2);
    let chosen = random.some(&about, count);
    let is_about_all =
        |other: &&Session| other.language == session.language && chosen.iter().all(|word| other.about.contains(word));
    if sessions.iter().filter(is_about_all).count() > 1 {
        return None;
    }
    let mut words: Vec<String> = Vec::new();
    for word in &chosen {
        let used: Vec<&str> = session.used_forms[word].iter().copied().collect();
        words.push(random.pick(&used).to_owned());
    }
    match kind {
        Kind::AsSaid => {}
        Kind::OtherForm => {
            let all = forms(0, chosen[0]);
            let others: Vec<&str> =
                all.into_iter().filter(|form| !session.used_forms[&chosen[0]].contains(form)).collect();
            if others.is_empty() {
                return None;
            }
            words[0] = random.pick(&others).to_owned();
        }
        Kind::OneLetterWrong => words[0] = misspelled(&words[0], random)?,
        Kind::Identifier => {
            let name = random.pick(&session.names);
            let is_there = |other: &&Session| other.has_name(name);
            if sessions.iter().filter(is_there).count() > 1 || name[0] == name[1] {
                return None;
            }
            words = match random.below(4) {
                0 => vec![name.join("_")],
                1 => vec![camel(name)],
                _ => vec![name[0].to_owned(), name[1].to_owned(), words.swap_remove(0)],
            };
        }
        Kind::OtherLanguage => match random.below(3) {
            0 => words[0] = plain(&words[0]),
            1 => {
                let first = forms(session.language, chosen[0])[0];
                words[0] = first.to_lowercase();
            }
            _ => {}
        },
        Kind::Phrase => {
            let sentence = random.pick(&session.sentences.iter().map(String::as_str).collect::<Vec<_>>());
            let all: Vec<&str> = sentence.split(' ').collect();
            let start = random.below(all.len().saturating_sub(4));
            let phrase = all[start..start + 5].join(" ");
            let is_said = |other: &&Session| other.texts().any(|text| text.contains(&phrase));
            if sessions.iter().filter(is_said).count() > 1 {
                return None;
            }
            words = vec![phrase];
        }
    }
    Some(words)
}

/// Returns a word with one wrong letter: another one, one missing, one too many, or two in the wrong order.
fn misspelled(word: &str, random: &mut Random) -> Option<String> {
    let mut letters: Vec<char> = word.chars().collect();
    if letters.len() < 5 {
        return None;
    }
    let at = 1 + random.below(letters.len() - 2);
    let other = random.pick(&['a', 'e', 'i', 'l', 'n', 'o', 'r', 's', 't']);
    match random.below(4) {
        0 => letters[at] = other,
        1 => drop(letters.remove(at)),
        2 => letters.insert(at, other),
        _ => letters.swap(at, at + 1),
    }
    let misspelled: String = letters.into_iter().collect();
    (misspelled != word).then_some(misspelled)
}

/// Returns a word without accents.
fn plain(word: &str) -> String {
    let letter = |c: char| match c {
        'á' => 'a',
        'ä' | 'Ä' => 'a',
        'é' => 'e',
        'í' => 'i',
        'ñ' => 'n',
        'ó' | 'ö' => 'o',
        'ú' | 'ü' | 'Ü' => 'u',
        other => other,
    };
    word.chars().map(letter).collect()
}
