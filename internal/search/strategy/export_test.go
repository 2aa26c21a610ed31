package strategy

// FirstDealt is the first schedule of a round that depends on earlier ones: see [Rounds].
const FirstDealt = roundsAhead * roundSchedules
