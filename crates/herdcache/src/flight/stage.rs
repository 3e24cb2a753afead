//! How far a flight has come, in one byte.

use herdfeed::Stage;

pub(super) const STAGES: [Stage; 7] =
    [Stage::Held, Stage::Queued, Stage::Origin, Stage::Doomed, Stage::Landed, Stage::Shared, Stage::Following];

pub(super) fn stage_code(stage: Stage) -> u8 {
    match stage {
        Stage::Held => 0,
        Stage::Queued | Stage::Unknown => 1,
        Stage::Origin => 2,
        Stage::Doomed => 3,
        Stage::Landed => 4,
        Stage::Shared => 5,
        Stage::Following => 6,
    }
}
