"""Sentences of our own making: word lists and patterns, drawn with a seed. None of them stands in a corpus."""

from __future__ import annotations

import random

PEOPLE = (
    "私 彼 彼女 先生 友達 母 父 兄 妹 祖父 医者 店長 駅員 隣の人 社長 学生 子どもたち 運転手 大家さん 警察官 選手 "
    "画家 農家の人 山田さん 鈴木さん 佐々木くん 工藤さん 百合子さん 観光客 漁師 料理人 通訳 職人 キャプテン"
).split()
PLACES = (
    "駅 公園 図書館 京都 北海道 喫茶店 市役所 学校 空港 海岸 神社 病院 映画館 郵便局 体育館 山奥 東京 名古屋 牧場 "
    "交差点 商店街 温泉 デパート スーパー パリ ロンドン ヴェネツィア 美術館 港町 屋上 地下鉄 動物園 工場 研究所 隣町"
).split()
THINGS = (
    "本 傘 手紙 新聞 鞄 写真 自転車 牛乳 切符 帽子 薬 机 時計 電話 林檎 蜜柑 葡萄 卵 味噌汁 お茶 急須 靴下 人形 "
    "ギター フォーク カメラ チョコレート ジュース シャツ ティーカップ ヴィオラ 百科事典 牛肉 弁当 地図 絵筆 封筒 "
    "ヒョウ柄の布 きゅうり 巾着 竹とんぼ 風呂敷 電子辞書 望遠鏡 プリン ビスケット 餃子 キャベツ "
    "客用の茶碗 ピョンと跳ねる玩具 "
    "ミュージカルの券 ビュッフェの券 ウォッカ クァルテットの楽譜 フィルム デュエットの曲 テューバ クァルテット "
    "グァバ茶 フューチャー誌 ミャンマー土産 脈拍計 ニョッキ 入場券 ヒャクニチソウ 珈琲豆 鋏 眼鏡 扇風機"
).split()
VERBS = (
    "買いました 探しています 見つけた 忘れてしまった 届けてくれた 選ぶつもりです 写真に撮った 壊してしまいました "
    "拾った 片付けた 借りています 送ります 運んでいた 見せてくれました 欲しがっている 作っています 配っていました "
    "磨いている 包んだ 売っている 大切にしている 持って出かけた 落としてしまった 譲ってもらった 並べました"
).split()
MOVES = (
    "行きました 向かっています 出かけた 着いたところです 戻ってきた 急いでいる 歩いて行くそうです 泊まる予定だ "
    "引っ越しました 立ち寄った 通っています 集まってください 遊びに行こう"
).split()
TIMES = (
    "昨日 今朝 明日 来週 去年の夏 三時ごろ 夜遅く 月曜日 十月十日 夕方 先月 百年前 正月 毎日 一昨日 お昼過ぎ "
    "二〇二六年 九時半 休みの日 真夜中 春になると 雨の日 八月 六月の終わり 今夜"
).split()
QUALITIES = (
    "美しい 静かな 古い 新しい 赤い とても小さな 不思議な 有名な 重い 丸い 安い 珍しい 立派な 柔らかい 真っ黒な "
    "綺麗な 丈夫な 甘い 冷たい きらきら光る 百円の 便利な 変な ごく普通の"
).split()
STATES = (
    "面白かった 難しそうだ 素敵ですね 大変でした 気に入りました 少し寂しい 一番好きだ 不便だと思う 危ないよ "
    "よく分からない 懐かしい 嬉しかった 心配です 十分だ 珍しくない すごく綺麗だった 悪くない"
).split()
REASONS = (
    "雨が降っていたので 時間がなかったから 電車が遅れて 道に迷ったため とても疲れていたけれど 風が強かったから "
    "お腹が空いたので 約束をしたのに 急に寒くなって 財布を忘れたから 空がよく晴れたので 熱があるのに "
    "誰も知らなかったが "
    "何度も聞いたけれど 興味があったので"
).split()
FILLERS = (
    "えっと、 ねえ、 実は、 つまり、 もちろん、 ところで、 でも、 そして、 ああ、 いいえ、 はい、 じゃあ、".split()
)
NUMBERS = "三 五 七 十二 二十四 三十六 百 百八 二百五十 六百 八百 千 九千 一万".split()
COUNTERS = "人 本 枚 匹 個 冊 台 回 分 キロ メートル ページ 杯 足 軒".split()

PATTERNS = (
    "{time}、{person}は{place}で{thing}を{verb}。",
    "{person}が{quality}{thing}を{verb}。",
    "{reason}、{person}は{place}へ{move}。",
    "{place}の{thing}は{state}。",
    "{filler}{quality}{thing}は{state}。",
    "{person}と{person2}は、{time}、{place}に{move}。",
    "{number}{counter}の{thing}を、{person}が{verb}。",
    "{place}から{place2}まで、およそ{number}キロあります。",
    "{person}が{verb}のは、{quality}{thing}でした。",
    "{quality}{place}だと、{person}から聞きました。",
    "{reason}、{thing}と{thing2}を{verb}。",
    "{filler}{person}の{thing}、{quality}ものだったよ。",
)
QUESTIONS = (
    "{person}は{place}で{thing}を見ましたか？",
    "{time}、{place}へ行きませんか？",
    "{filler}この{thing}は誰のですか？",
    "{quality}{thing}、どこで買ったの？",
    "{thing}と{thing2}、どちらが好き？",
    "{person}って、{place}の人？",
    "{number}{counter}で足りますか？",
    "もう{thing}は片付けた？",
)
# A share of questions that is heard, as in talk.
QUESTION_SHARE = 0.2


def sentence(chance: random.Random) -> str:
    pattern = chance.choice(QUESTIONS if chance.random() < QUESTION_SHARE else PATTERNS)
    person, person2 = chance.sample(PEOPLE, 2)
    place, place2 = chance.sample(PLACES, 2)
    thing, thing2 = chance.sample(THINGS, 2)
    return pattern.format(
        person=person,
        person2=person2,
        place=place,
        place2=place2,
        thing=thing,
        thing2=thing2,
        time=chance.choice(TIMES),
        verb=chance.choice(VERBS),
        move=chance.choice(MOVES),
        quality=chance.choice(QUALITIES),
        state=chance.choice(STATES),
        reason=chance.choice(REASONS),
        filler=chance.choice(FILLERS),
        number=chance.choice(NUMBERS),
        counter=chance.choice(COUNTERS),
    )


def sentences(count: int, seed: int) -> list[str]:
    """`count` sentences, each once."""
    chance = random.Random(seed)  # noqa: S311 - a draw that can be repeated
    found: dict[str, None] = {}
    while len(found) < count:
        found[sentence(chance)] = None
    return list(found)
