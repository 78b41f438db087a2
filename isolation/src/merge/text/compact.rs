//! Moves changes whose place is ambiguous, as git does before it merges: neighbours are joined, a
//! change is placed beside a change of the other side, else as far down as possible.

/// The changed lines of one side, and the lines themselves.
pub(super) struct Side<'a> {
    pub(super) lines: &'a [u32],
    pub(super) changed: &'a mut [bool],
}

/// A maximal run of changed lines between two unchanged lines; it may be empty. The groups of both
/// sides correspond to each other one by one.
#[derive(Clone, Copy)]
struct Group {
    start: usize,
    end: usize,
}

/// Places the changes of `side`; `other` is the other side of the same diff.
pub(super) fn compact(side: &mut Side<'_>, other: &Side<'_>) {
    let mut group = Group::first(side.changed);
    let mut beside = Group::first(other.changed);
    loop {
        if !group.is_empty() {
            place(side, other, &mut group, &mut beside);
        }
        if !group.go_forward(side.changed) {
            return;
        }
        let both = beside.go_forward(other.changed);
        debug_assert!(both, "both sides have the same number of groups");
    }
}

/// Places one group.
fn place(side: &mut Side<'_>, other: &Side<'_>, group: &mut Group, beside: &mut Group) {
    let mut meets_change;
    let mut highest_end;
    loop {
        let size = group.size();
        while group.slide_up(side) {
            beside.go_back(other.changed);
        }
        highest_end = group.end;
        meets_change = !beside.is_empty();
        while group.slide_down(side) {
            beside.go_forward(other.changed);
            meets_change |= !beside.is_empty();
        }
        // A group that met another one is larger now, and may slide further.
        if size == group.size() {
            break;
        }
    }
    if group.end == highest_end || !meets_change {
        return;
    }
    while beside.is_empty() && group.slide_up(side) {
        beside.go_back(other.changed);
    }
}

impl Group {
    fn first(changed: &[bool]) -> Self {
        let mut group = Self { start: 0, end: 0 };
        group.extend_down(changed);
        group
    }

    fn size(self) -> usize {
        self.end - self.start
    }

    fn is_empty(self) -> bool {
        self.start == self.end
    }

    fn extend_down(&mut self, changed: &[bool]) {
        while changed.get(self.end).is_some_and(|changed| *changed) {
            self.end += 1;
        }
    }

    fn extend_up(&mut self, changed: &[bool]) {
        while self.start > 0 && changed[self.start - 1] {
            self.start -= 1;
        }
    }

    /// Goes to the next group. Returns whether there is one.
    fn go_forward(&mut self, changed: &[bool]) -> bool {
        if self.end == changed.len() {
            return false;
        }
        self.start = self.end + 1;
        self.end = self.start;
        self.extend_down(changed);
        true
    }

    /// Goes to the group before, if there is one.
    fn go_back(&mut self, changed: &[bool]) {
        if self.start > 0 {
            self.end = self.start - 1;
            self.start = self.end;
            self.extend_up(changed);
        }
    }

    /// Moves the group down by a line, if the diff stays correct.
    fn slide_down(&mut self, side: &mut Side<'_>) -> bool {
        if self.end >= side.lines.len() || side.lines[self.start] != side.lines[self.end] {
            return false;
        }
        side.changed[self.start] = false;
        side.changed[self.end] = true;
        self.start += 1;
        self.end += 1;
        self.extend_down(side.changed);
        true
    }

    /// Moves the group up by a line, if the diff stays correct.
    fn slide_up(&mut self, side: &mut Side<'_>) -> bool {
        if self.start == 0 || side.lines[self.start - 1] != side.lines[self.end - 1] {
            return false;
        }
        self.start -= 1;
        self.end -= 1;
        side.changed[self.start] = true;
        side.changed[self.end] = false;
        self.extend_up(side.changed);
        true
    }
}
