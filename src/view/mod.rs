//! All that a person or a script sees: answers (`render`), the picker, and the streams and the terminal (`ui`).

pub(crate) mod pick;
pub(crate) mod render;
pub(crate) mod ui;
