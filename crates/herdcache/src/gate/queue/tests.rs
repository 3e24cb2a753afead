//! The queue against a model of it: what a list of groups and a counter would do.

use std::collections::{BTreeMap, VecDeque};
use std::task::{Context, Poll, Waker};

use fastrand::Rng;

use super::*;

/// What the model knows of one who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Waits,
    Served,
}

/// The same queue, told plainly.
#[derive(Debug, Default)]
struct Model {
    limit: usize,
    places: usize,
    out: usize,
    /// Groups in the order of their turns, with their waiters in the order of arrival.
    groups: VecDeque<(u64, VecDeque<usize>)>,
}

impl Model {
    fn waiting(&self) -> usize {
        self.groups.iter().map(|(_, line)| line.len()).sum()
    }

    fn held(&self, group: u64) -> usize {
        self.groups.iter().find(|(id, _)| *id == group).map_or(0, |(_, line)| line.len())
    }

    fn enter(&mut self, group: Group, who: usize) -> Result<Fate, RejectReason> {
        if self.waiting() == 0 && self.out < self.limit {
            self.out += 1;
            return Ok(Fate::Served);
        }
        if self.places > 0 && self.held(group.id) >= group.part_of(self.places) {
            return Err(RejectReason::GroupShare);
        }
        if self.waiting() >= self.places {
            return Err(RejectReason::QueueFull);
        }
        match self.groups.iter_mut().find(|(id, _)| *id == group.id) {
            Some((_, line)) => line.push_back(who),
            None => self.groups.push_back((group.id, VecDeque::from([who]))),
        }
        Ok(Fate::Waits)
    }

    fn leave(&mut self, who: usize) {
        self.groups.iter_mut().for_each(|(_, line)| line.retain(|other| *other != who));
        self.groups.retain(|(_, line)| !line.is_empty());
    }

    /// Who is served now.
    fn settle(&mut self) -> Vec<usize> {
        let mut served = Vec::new();
        while self.out < self.limit {
            let Some((id, mut line)) = self.groups.pop_front() else { break };
            served.extend(line.pop_front());
            self.out += 1;
            if !line.is_empty() {
                self.groups.push_back((id, line));
            }
        }
        served
    }
}

/// A queue beside its model, and everybody who holds or waits.
struct Pair {
    queue: Arc<Queue>,
    model: Model,
    holders: Vec<Slot>,
    waiters: BTreeMap<usize, Waiter>,
    next: usize,
}

impl Pair {
    fn new(rng: &mut Rng) -> Self {
        let (limit, places) = (rng.usize(1..=4), rng.usize(0..=12));
        let model = Model { limit, places, ..Model::default() };
        Self { queue: Queue::new(limit, places), model, holders: Vec::new(), waiters: BTreeMap::new(), next: 0 }
    }

    fn enter(&mut self, group: Group) {
        self.next += 1;
        let expected = self.model.enter(group, self.next);
        match (self.queue.enter(Some(group)), expected) {
            (Entry::Free(slot), Ok(Fate::Served)) => self.holders.push(slot),
            (Entry::Waits(waiter), Ok(Fate::Waits)) => _ = self.waiters.insert(self.next, waiter),
            (Entry::Refused(reason), Err(expected)) => assert_eq!(reason, expected),
            (_, expected) => panic!("the model says {expected:?}"),
        }
    }

    /// A permit comes back; whoever the model serves has been answered, nobody else.
    fn settle(&mut self) {
        for who in self.model.settle() {
            let mut waiter = self.waiters.remove(&who).unwrap();
            match poll(&mut waiter) {
                Some(Ok(slot)) => self.holders.push(slot),
                other => panic!("{who} was to be served, not {:?}", other.map(Result::err)),
            }
        }
        for (who, waiter) in &mut self.waiters {
            assert!(poll(waiter).is_none(), "{who} was served out of turn");
        }
        let state = self.queue.state.lock();
        assert_eq!((state.out, state.waiting), (self.holders.len(), self.waiters.len()));
        assert_eq!((state.lines.len(), state.turns.len()), (self.model.groups.len(), self.model.groups.len()));
        assert!(state.waiting == 0 || state.out >= state.limit, "a permit lies idle");
    }

    fn step(&mut self, rng: &mut Rng) {
        match rng.u32(..10) {
            0..=4 => self.enter(Group { id: rng.u64(..4), share: [0.1, 0.3, 1.0][rng.usize(..3)] }),
            5 | 6 if !self.holders.is_empty() => {
                drop(self.holders.swap_remove(rng.usize(..self.holders.len())));
                self.model.out -= 1;
            }
            7 if !self.waiters.is_empty() => {
                let who = *self.waiters.keys().nth(rng.usize(..self.waiters.len())).unwrap();
                self.model.leave(who);
                let mut waiter = self.waiters.remove(&who).unwrap();
                if rng.bool() {
                    assert!(waiter.leave().is_none());
                }
            }
            8 => {
                self.model.limit = rng.usize(1..=5);
                self.queue.set_limit(self.model.limit);
                self.queue.wake();
            }
            _ => {}
        }
        self.settle();
    }
}

fn poll(waiter: &mut Waiter) -> Option<Answer> {
    let mut answer = std::pin::pin!(waiter.answer());
    match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

/// L3, L6, S6: for 2,000 random histories the queue does what its model does: never above the limit, no permit idle
/// while somebody waits, in turn between groups and in order within one, and everything back at the end.
#[test]
fn l3_the_queue_does_what_its_model_does() {
    for seed in 0..2_000 {
        let rng = &mut Rng::with_seed(seed);
        let mut pair = Pair::new(rng);
        (0..rng.usize(20..120)).for_each(|_| pair.step(rng));
        pair.waiters.clear();
        pair.holders.clear();
        let state = pair.queue.state.lock();
        assert_eq!((state.out, state.waiting, state.lines.len(), state.turns.len()), (0, 0, 0, 0), "seed {seed}");
    }
}

/// L3, G1: a permit that is handed to somebody who leaves in that instant goes to the next.
#[test]
fn l3_a_permit_for_one_who_has_left_goes_to_the_next() {
    let queue = Queue::new(1, 4);
    let Entry::Free(slot) = queue.enter(None) else { panic!() };
    let mut waiters: Vec<_> = (0..4)
        .map(|_| match queue.enter(None) {
            Entry::Waits(waiter) => waiter,
            Entry::Free(_) | Entry::Refused(_) => panic!(),
        })
        .collect();
    // Its receiver has gone, its place is not given up yet: what a drop on another thread looks like.
    waiters[0].answer.close();
    drop(slot);
    assert!(poll(&mut waiters[1]).is_some_and(|answer| answer.is_ok()), "the second is served, and lets go at once");
    // A permit in the channel of one who never looks comes back with the channel.
    assert_eq!(queue.state.lock().out, 1);
    drop(waiters);
    assert_eq!((queue.state.lock().out, queue.waiting()), (0, 0));
    assert!(queue.try_enter().is_some());
}

/// L3: on several threads at once the limit holds and nothing is lost.
#[test]
fn l3_threads_never_hold_more_than_the_limit() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
    let queue = Queue::new(3, 64);
    let held = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..16)
        .map(|n| {
            let (queue, held) = (Arc::clone(&queue), Arc::clone(&held));
            runtime.spawn(async move {
                let mut rng = Rng::with_seed(n);
                for _ in 0..500 {
                    let slot = match queue.enter(Some(Group { id: n % 3, share: 1.0 })) {
                        Entry::Free(slot) => slot,
                        Entry::Waits(waiter) if rng.u32(..4) == 0 => {
                            tokio::task::yield_now().await;
                            drop(waiter);
                            continue;
                        }
                        Entry::Waits(mut waiter) => waiter.answer().await.unwrap(),
                        Entry::Refused(reason) => panic!("{reason}"),
                    };
                    assert!(held.fetch_add(1, Relaxed) < 3);
                    tokio::task::yield_now().await;
                    held.fetch_sub(1, Relaxed);
                    drop(slot);
                }
            })
        })
        .collect();
    runtime.block_on(async {
        for task in tasks {
            task.await.unwrap();
        }
    });
    let state = queue.state.lock();
    assert_eq!((state.out, state.waiting, state.turns.len()), (0, 0, 0));
}
