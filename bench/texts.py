"""What the benchmarks speak: sentences of everyday length, and one of exactly 20 characters."""

SENTENCES = [
    "こんにちは、音声合成の世界へようこそ。",
    "今日は朝から雨が降っています。",
    "次の電車は三番線に到着します。",
    "駅前の喫茶店で友人と会います。",
    "この道をまっすぐ進んでください。",
    "会議は三時から始まります。",
    "夏休みは北海道へ行く予定です。",
    "品物は明日の午前に届きます。",
]
TWENTY = "明日は友達と海へ行って泳ぐつもりですよ。"
assert len(TWENTY) == 20
